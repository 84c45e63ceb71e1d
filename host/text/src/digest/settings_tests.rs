//! Digests of settings, and text that is not settings.

use gatehouse_core::ports::TextCompressor as _;

use crate::{Extractor, digest::digest};

fn has(text: &str, told: &[&str]) {
    let digest = digest(text, "", 300).unwrap();
    assert_eq!(digest.kind, "settings");
    for told in told {
        assert!(digest.text.contains(told), "'{told}' is not in\n{}", digest.text);
    }
}

#[test]
fn sections_are_told_with_their_keys_and_values() {
    let comment = format!("# {}\n", "the purpose of this, and its other uses. ".repeat(100));
    let text = format!(
        "home = /srv\n{comment}[ net ]\nport=80 \nhosts = [\n  \"a\", # one\n  \"b\",\n]\n[log]\n; x = 1\nlevel = \"warn\"\nfile = a.log\nsize = 10\n"
    );
    has(
        &text,
        &[
            "6 settings in 2 sections.",
            "home = /srv",
            "[net] port = 80; hosts = [ \"a\", # one \"b\", ]",
            "[log] level = \"warn\"; file = a.log; size = 10",
        ],
    );
}

#[test]
fn sections_that_come_again_are_rows() {
    let text: String =
        (0..90).map(|n| format!("[[package]]\nname = \"p{n}\"\nsize = {}\n\n", n * 7 % 31)).collect();
    has(&text, &["The section package occurs 90 times.", "named by name", "size: 0 (\"p0\") to 30"]);
}

#[test]
fn keys_with_dots_are_grouped_by_their_first_word() {
    let text: String = (0..200).map(|n| format!("{}.a.k{n} = {n}\n", ["fs", "net"][n % 2])).collect();
    has(&text, &["200 settings in 0 sections.", "fs.* 100, net.* 100", "fs.* fs.a.k0 = 0; fs.a.k2 = 2"]);
}

#[test]
fn code_is_no_settings_and_hostile_ones_are_bounded() {
    let code = "let a = 1;\nlet b = f(2);\nx == y\nfn f() {\n}\n".repeat(200);
    assert_ne!(digest(&code, "", 300).unwrap().kind, "settings");
    let texts = [
        "[".repeat(50_000),
        format!("{}a = [{}", "k = v\n".repeat(900), "[".repeat(9_000)),
        (0..9_000).map(|n| format!("[s{n}]\nk{n} = \u{202e}é\\\n")).collect(),
        format!("{}\u{feff}é[", "[[é]]\né = \"é\n".repeat(9_00)),
    ];
    for text in texts {
        let digest = Extractor.digest(&text, "k7", 300).unwrap();
        assert!(digest.tokens_out <= 300);
        assert!(!digest.text.contains('\u{202e}'), "{}", digest.text);
    }
}

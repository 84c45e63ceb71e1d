//! Digests of source code.

use gatehouse_core::ports::TextCompressor as _;

use crate::{Extractor, digest::digest};

#[test]
fn what_is_defined_is_told_with_lines_and_comments() {
    let mut text = String::from(
        "\"\"\"Does things with numbers.\n\nAnd more.\n\"\"\"\nimport os\n\nclass Thing(object):\n    \"\"\"A thing.\"\"\"\n\n    def first(self):\n        return 1\n\n    def second(self):\n        \"\"\"Gives two.\"\"\"\n        return (\n            2\n        )\n\n",
    );
    text += &(0..60).map(|n| format!("def function_{n}(x):\n    return x + {n}\n\n")).collect::<String>();
    let digest = digest(&text, "", 700).unwrap();
    assert_eq!(digest.kind, "code");
    for told in [
        "define def 62, class 1",
        "First comment: Does things with numbers.",
        "second (lines 13-17)",
        "class Thing 7; def function_0 19, function_1 22",
        "in class Thing: def first 10, second 13",
        "second (13): Gives two.",
        "Thing (7): A thing.",
    ] {
        assert!(digest.text.contains(told), "'{told}' is not in\n{}", digest.text);
    }
}

#[test]
fn hostile_code_is_bounded() {
    let texts = [
        (0..20_000).map(|n| format!("fn f{n}() {{\n")).collect(),
        (0..3_000).map(|n| format!("{}def f{n}(x):\n", " ".repeat(n))).collect::<String>(),
        format!("fn a() {{\nfn b() {{\nfn c() {{\nfn {}(", "é".repeat(1 << 20)),
        "fn \u{202e}x\u{1b}[31m() {\n/// \u{7}bell\nfn y() {\n}\n}\n".repeat(400),
        "/*\n".repeat(5_000) + "fn a() {\n}\n",
    ];
    for text in texts {
        let digest = Extractor.digest(&text, "f77", 300).unwrap();
        assert!(digest.tokens_out <= 300);
        assert!(
            !digest.text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'),
            "{}",
            digest.text
        );
    }
}

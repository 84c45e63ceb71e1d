//! Digests of logs.

use crate::{Extractor, digest::digest};
use gatehouse_core::ports::TextCompressor as _;

fn log() -> String {
    let mut text = String::new();
    for n in 0..600 {
        let level = if n % 100 == 7 { "ERROR" } else { "INFO" };
        let what = if n % 100 == 7 {
            format!("disk {n} failed: no space")
        } else {
            format!("job {n} done in {}ms", n * 7 % 401)
        };
        text += &format!("2026-03-{:02} 10:00:{:02} {level} {what}\n", 4 + n / 400, n % 60);
    }
    text
}

#[test]
fn levels_times_and_forms_are_counted() {
    let digest = digest(&log(), "", 400).unwrap();
    assert_eq!(digest.kind, "log");
    for told in [
        "600 lines, from 2026-03-04 10:00:00 to 2026-03-05 10:00:59",
        "info 594, error 6",
        "Lines by day: 2026-03-04 400, 2026-03-05 200",
        "594 × INFO job … done in … (max 400ms: line ",
        "6 lines report failures; line 8: 2026-03-04 10:00:07 ERROR disk 7 failed: no space",
    ] {
        assert!(digest.text.contains(told), "'{told}' is not in\n{}", digest.text);
    }
}

#[test]
fn lines_that_match_are_shown_with_their_numbers() {
    let digest = digest(&log(), "what happened to disk 107?", 500).unwrap();
    assert!(digest.text.contains("108: 2026-03-04 10:00:47 ERROR disk 107 failed"), "{}", digest.text);
}

#[test]
fn lines_of_few_forms_are_told_by_their_forms() {
    let text: String = (0..80).map(|n| format!("   Compiling crate-{n} v0.{n}.0\n")).collect();
    let digest = digest(&(text + "    Finished in 3s\n"), "", 120).unwrap();
    assert_eq!(digest.kind, "lines");
    assert!(digest.text.contains("80 × Compiling …"), "{}", digest.text);
}

#[test]
fn hostile_logs_are_bounded() {
    let line = |n: usize| format!("2026-01-01 00:00:00 {n:x}a{n} b{n}\u{1b}[31m \u{202e}{n}\n");
    let texts = [
        (0..40_000).map(line).collect::<String>(),
        format!("2026-01-01 00:00:00 x\n2026-01-01 00:00:00 x\n2026-01-01 00:00:00 {}", "y ".repeat(1 << 20)),
        "Traceback (most recent call last):\n".repeat(50_000),
        (0..50_000).map(|n| format!("E{n}Error: x{n}\n")).collect(),
        "2026-01-01 00:00:00 \u{0}\u{7}\n".repeat(1_000),
    ];
    for text in texts {
        let digest = Extractor.digest(&text, "b77 x error", 300).unwrap();
        assert!(digest.tokens_out <= 300);
        assert!(
            !digest.text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'),
            "{}",
            digest.text
        );
    }
}

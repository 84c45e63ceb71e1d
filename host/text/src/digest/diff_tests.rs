//! Digests of diffs.

use gatehouse_core::ports::TextCompressor as _;

use crate::{Extractor, digest::digest};

const DIFF: &str = "commit 1234\n\n    Say why\n\ndiff --git a/src/a.rs b/src/a.rs\nindex 1..2 100644\n--- a/src/a.rs\n+++ b/src/a.rs\n\
@@ -1,3 +1,5 @@ impl Thing\n kept\n-pub fn old_name() {}\n+pub fn new_name() {}\n+--- not a head\n++++ not a head\n kept\n\
diff --git a/b.txt b/c.txt\nsimilarity index 90%\nrename from b.txt\nrename to c.txt\n\
diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+class Added:\n\\ No newline at end of file\n";

#[test]
fn files_lines_and_names_are_told() {
    let text = DIFF.to_owned()
        + &format!("diff --git a/z b/z\n--- a/z\n+++ b/z\n@@ -0,0 +1,400 @@\n{}", "+x y z\n".repeat(400));
    let digest = digest(&text, "", 300).unwrap();
    assert_eq!(digest.kind, "diff");
    for told in [
        "4 files changed: 404 lines added, 1 removed.",
        "src/a.rs +3 -1",
        "c.txt +0 -0 from b.txt",
        "new.py +1 -0 new",
        "src/a.rs: new_name",
        "src/a.rs: old_name",
        "new.py: Added",
        "line 9: src/a.rs: impl Thing",
        "Say why",
    ] {
        assert!(digest.text.contains(told), "'{told}' is not in\n{}", digest.text);
    }
}

#[test]
fn hostile_diffs_are_bounded() {
    let texts = [
        (0..10_000)
            .map(|n| {
                format!("diff --git a/{n} b/{n}\n--- a/{n}\n+++ b/{n}\n@@ -1 +1 @@ p{n}\n-a\n+fn f{n}() {{\n")
            })
            .collect(),
        format!("--- a\n+++ b\n@@ -1 +1 @@\n-a\n+{}", "é".repeat(1 << 20)),
        "--- a\n+++ b\n@@ -99999999999999999999,1 +1 @@\n@@ -1,18446744073709551615 +1,9 @@\n".repeat(500),
        "diff --git a/\u{1b}[31m\u{202e}x b/\u{1b}[31m\u{202e}x\nindex 1..2\n@@ -1 +1 @@ \u{7}\n".repeat(300),
    ];
    for text in texts {
        let digest = Extractor.digest(&text, "p77", 300).unwrap();
        assert_eq!(digest.kind, "diff");
        assert!(digest.tokens_out <= 300);
        assert!(
            !digest.text.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'),
            "{}",
            digest.text
        );
    }
}

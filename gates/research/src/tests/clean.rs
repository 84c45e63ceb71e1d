//! Tests of untrusted Markdown.

use crate::clean::{code, prose};

#[test]
fn ordinary_markdown_is_left_alone() {
    let text = "Some **bold** text with `code`, a [link](https://a.org) and <https://b.org>.\n\n- one\n  - two\n1. three\n\n\
                | a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\n```rust\nlet v: Vec<u8> = vec![]; // # no heading\n---\n```\n\n\
                [see](https://c.org) #tag, a < b, Vec<u8>, 2 - 1 = 1";
    assert_eq!(prose(text, 4_000), text);
}

#[test]
fn headings_get_smaller_and_keep_their_order() {
    let text = "# a\n## b\n### c\n###### d\n####### no heading\n#hash\n   # e\n    # code\n#\n> # quoted";
    let expected = "#### a\n##### b\n###### c\n###### d\n####### no heading\n#hash\n#### e\n    # code\n####\n> # quoted";
    assert_eq!(prose(text, 4_000), expected);
}

#[test]
fn markup_at_the_start_of_a_line_is_escaped() {
    for (line, harmless) in [
        ("---", "\\---"),
        ("  ===", "\\==="),
        ("* * *", "\\* * *"),
        ("___", "\\___"),
        ("<div>", "\\<div>"),
        ("</details>", "\\</details>"),
        ("<!DOCTYPE x>", "\\<!DOCTYPE x>"),
        ("<?php", "\\<?php"),
        ("[1]: https://evil.example", "\\[1]: https://evil.example"),
        ("> 1. [2]: https://evil.example", "> 1. \\[2]: https://evil.example"),
        ("[broken", "\\[broken"),
    ] {
        assert_eq!(prose(&format!("x\n{line}\ny"), 100), format!("x\n{harmless}\ny"));
    }
}

#[test]
fn a_fence_ends_with_its_section() {
    for (text, expected) in [
        ("```\nopen", "```\nopen\n```"),
        ("~~~~py\nopen\n~~~", "~~~~py\nopen\n~~~\n~~~~"),
        ("```\na\n```\nb\n```", "```\na\n```\nb\n```\n```"),
        ("a\n   ```\nopen", "a\n   ```\nopen\n```"),
    ] {
        assert_eq!(prose(text, 100).trim_end(), expected);
    }
    let long = format!("Words.\n```\n{}", "line of code\n".repeat(1_000));
    let cut = prose(&long, 200);
    assert!(cut.matches("```").count() == 2 && cut.chars().count() < 220, "{cut}");
}

#[test]
fn code_cannot_end_its_fence() {
    assert_eq!(code("a\n  b\n", 99), "```\na\n  b\n```");
    assert_eq!(code("  indented\n", 99), "```\n  indented\n```");
    assert_eq!(code("x = '````'", 99), "`````\nx = '````'\n`````");
    assert_eq!(code("Use:\n```sh\nrun", 99), "Use:\n```sh\nrun\n```");
    assert_eq!(code(" \n", 99), "");
    assert_eq!(code(&"12345678\n".repeat(9), 20), "```\n12345678\n12345678\n```\n…");
    assert_eq!(code(&"ü".repeat(30), 10), format!("```\n{}\n```\n…", "ü".repeat(10)));
}

#[test]
fn no_cut_anywhere_opens_a_fence() {
    let text = "Intro.\n```rust\nfn a() {}\n```\nText\n~~~\nmore\n~~~\n- list\n  ```\n  inner\n  ```\nend # x\n# H\nlast";
    for max in 1..text.len() {
        let cut = prose(text, max);
        let again = prose(&cut, 4_000);
        assert_eq!(again.lines().count(), cut.lines().count(), "{max}: {cut}");
    }
}

//! Invariants and examples of chunking.

use proptest::prelude::*;

use super::*;
use crate::headings::headings;

fn cut_up(kind: FileKind, text: &str) -> Vec<DocumentChunk> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    chunks(kind, text, &lines, &headings(kind, text, &lines))
}

fn paths(chunks: &[DocumentChunk]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk.heading.as_str()).collect()
}

/// Checks that chunks are in order, only blanks are between them, and line numbers match the text.
fn check(kind: FileKind, text: &str) {
    let mut at = 0;
    for chunk in cut_up(kind, text) {
        assert!(text[at..chunk.start].trim().is_empty());
        assert!(chunk.end > chunk.start);
        let first = text[..chunk.start].matches('\n').count() + 1;
        let inner = text[chunk.start..chunk.end].trim_end_matches('\n').matches('\n').count();
        assert_eq!(chunk.lines.first as usize, first);
        assert!((chunk.lines.last as usize) >= first + inner);
        assert!(estimate_tokens(&text[chunk.start..chunk.end]) <= MAX_FENCED_TOKENS + MAX_TOKENS);
        at = chunk.end;
    }
    assert!(text[at..].trim().is_empty());
}

proptest! {
    #[test]
    fn parts_are_the_text_in_order(text in "([#=`~\\-a-z.üあ \\n]|\\n\\n|```\\n|# a\\n){0,600}") {
        for kind in [FileKind::Markdown, FileKind::Rst, FileKind::AsciiDoc, FileKind::Source, FileKind::Plain] {
            check(kind, &text);
        }
    }

    #[test]
    fn code_blocks_that_fit_stay_whole(before in 0..900_usize, lines in 1..120_usize) {
        let text = "word ".repeat(before) + "\n\n```rust\n" + &"let x = 1;\n\n".repeat(lines) + "```\n\nAfter.\n";
        check(FileKind::Markdown, &text);
        let (start, end) = (text.find("```").expect("there"), text.rfind("```").expect("there"));
        let found = cut_up(FileKind::Markdown, &text);
        let whole = found.iter().any(|chunk| chunk.start <= start && chunk.end >= end);
        prop_assert!(whole || estimate_tokens(&text[start..end]) > MAX_FENCED_TOKENS - 10);
    }
}

#[test]
fn parts_carry_the_headings_that_lead_to_them() {
    let body = "Some text of a paragraph that is long. ".repeat(14);
    let text = format!("# One\n\n{body}\n\n## Two\n\n{body}\n\n## Three\n\n{body}\n\n# Four\n\n{body}\n");
    let found = cut_up(FileKind::Markdown, &text);
    assert_eq!(paths(&found), ["One", "One > Two", "One > Three", "Four"]);
    assert_eq!(found[1].lines, LineRange { first: 5, last: 8 });
}

#[test]
fn short_sections_share_a_part_and_long_ones_are_cut() {
    assert_eq!(cut_up(FileKind::Markdown, &"## A\n\nShort.\n\n".repeat(5)).len(), 1);
    let long =
        cut_up(FileKind::Markdown, &("# A\n\n".to_owned() + &"A sentence of some words. ".repeat(900)));
    assert!(long.len() > 10 && long.iter().all(|chunk| chunk.heading == "A"));
    assert!(
        long.iter().all(|chunk| estimate_tokens(
            &"A sentence of some words. ".repeat(900)[..chunk.end - chunk.start]
        ) <= MAX_TOKENS)
    );
}

#[test]
fn hostile_texts_take_linear_time() {
    for text in [
        "\n".repeat(1_000_000),
        "x".repeat(1_000_000),
        "#\n".repeat(300_000),
        "```\n".repeat(300_000),
        "あ".repeat(300_000),
    ] {
        check_quickly(&text);
    }
    assert!(cut_up(FileKind::Markdown, "").is_empty());
}

fn check_quickly(text: &str) {
    let found = cut_up(FileKind::Markdown, text);
    assert!(found.windows(2).all(|two| two[0].end <= two[1].start));
}

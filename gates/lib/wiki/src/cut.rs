//! The beginning of a text, without a code block that is cut open.
//!
//! A reader, or a model, that meets an open fence takes all that follows for code. So a text that
//! would end inside a block either ends before the block, or, where that would lose half of it, at a
//! whole line of the block and with the block closed.

use crate::{
    blocks::{OpenBlock, after_line, fence},
    line::{at_word, head},
};

/// The first `max` characters of the text, cut at a word. What was cut ends in `…`, on a line of its
/// own after a block that was closed.
pub fn cut(text: &str, max: usize) -> String {
    let text = text.trim();
    let head = head(text, max);
    if head.len() == text.len() {
        return text.to_owned();
    }
    // A word that ends exactly at the limit is whole.
    let whole = text[head.len()..].starts_with(char::is_whitespace);
    let head = if whole { head } else { at_word(head) };
    match open_block(head) {
        None => cut_mark(without_heading(head.trim_end())),
        Some(block) => end_of_block(head, &block),
    }
}

/// The text without a heading, or half of one, at its end: nothing of what it announces is there.
fn without_heading(text: &str) -> &str {
    match text.rsplit_once('\n') {
        Some((above, last)) if last.trim_start().starts_with(['=', '#']) => without_heading(above.trim_end()),
        _ => text,
    }
}

/// The text with `…` behind it, on a line of its own where it would spoil the end of a fence.
fn cut_mark(text: &str) -> String {
    let after_fence = text.lines().last().is_some_and(|line| fence(line).is_some());
    format!("{text}{}", if after_fence { "\n…" } else { "…" })
}

fn end_of_block(head: &str, block: &OpenBlock) -> String {
    let before = head[..block.start].trim_end();
    let first_line = head[block.start..].find('\n').map(|end| block.start + end + 1);
    let last_line = head.rfind('\n').unwrap_or(0);
    match first_line {
        // Some of the block's lines are whole, and what stands before it is less than half.
        Some(inside) if last_line >= inside && block.start * 2 < head.len() => {
            format!("{}\n{}\n…", head[..last_line].trim_end(), block.close)
        }
        _ if !before.is_empty() => cut_mark(before),
        // The block is all there is, and its first line is longer than the preview.
        _ => format!("{}\n{}\n…", head.trim_end(), block.close),
    }
}

fn open_block(text: &str) -> Option<OpenBlock> {
    let mut open: Option<OpenBlock> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        open = after_line(line, start, open);
        start += line.len();
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(text: &str) -> bool {
        open_block(text).is_none()
    }

    #[test]
    fn short_text_is_whole_and_long_text_is_cut_at_a_word() {
        assert_eq!(cut("  all of it\n", 800), "all of it");
        let text = "lorem ipsum ".repeat(100);
        let short = cut(&text, 800);
        assert!(short.ends_with("lorem…") || short.ends_with("ipsum…"), "{short}");
        assert!(short.chars().count() <= 801);
        assert_eq!(cut("one two three", 7), "one two…");
    }

    #[test]
    fn a_heading_is_not_the_last_thing() {
        let text = format!("== Overview ==\n{}\n\n=== Description ===\nmore of it", "word ".repeat(20));
        for max in 102..125 {
            assert!(cut(&text, max).ends_with("word…"), "{max}: {}", cut(&text, max));
        }
    }

    #[test]
    fn a_block_late_in_the_text_is_left_out() {
        for (open, close) in
            [("```python", "```"), ("~~~", "~~~"), ("<syntaxhighlight lang=\"py\">", "</syntaxhighlight>")]
        {
            let text = format!("{}\n{open}\n{}{close}\nafter", "word ".repeat(20), "x = 1\n".repeat(50));
            let short = cut(&text, 150);
            assert!(closed(&short) && !short.contains("x = 1") && short.ends_with("word…"), "{short}");
        }
    }

    #[test]
    fn a_block_early_in_the_text_is_closed_at_a_whole_line() {
        for (open, close) in
            [("```python", "```"), ("````", "````"), ("<pre>", "</pre>"), ("<math>", "</math>")]
        {
            let text = format!("Intro.\n{open}\n{}{close}\nafter", "x = 1\n".repeat(50));
            let short = cut(&text, 100);
            assert!(closed(&short) && short.ends_with(&format!("x = 1\n{close}\n…")), "{short}");
        }
    }

    #[test]
    fn no_cut_anywhere_leaves_a_block_open() {
        let text = "Ünïcode intro.\n<syntaxhighlight lang=\"python\">\nprint('hi')\n</syntaxhighlight>\nText `a`.\n\
                    ```bash\nls -la\n```\nMore <math>x^2\n+ y</math> words.\n~~~\nend\n~~~\n";
        for max in 1..text.chars().count() {
            let short = cut(text, max);
            assert!(closed(&short), "{max}: {short}");
        }
    }
}

//! Truncates text without leaving a code block open, which would turn everything after it into code. Text that would
//! end inside a block ends before it, or, if that loses more than half, at a line of the block, which is then closed.

use crate::{
    blocks::{OpenBlock, after_line, fence},
    quote::{at_word, head},
};

/// Returns the first `max` characters, cut at a word and followed by `…`. After a closed block, the `…` is on its own
/// line.
pub fn cut(text: &str, max: usize) -> String {
    let text = text.trim();
    let head = head(text, max);
    if head.len() == text.len() {
        return text.to_owned();
    }
    // A word that ends exactly at the limit is complete.
    let whole = text[head.len()..].starts_with(char::is_whitespace);
    let head = if whole { head } else { at_word(head) };
    match open_block(head) {
        None => cut_mark(without_heading(head.trim_end())),
        Some(block) => end_of_block(head, &block),
    }
}

/// Removes a heading, or part of one, at the end, because its section was cut.
fn without_heading(text: &str) -> &str {
    match text.rsplit_once('\n') {
        Some((above, last)) if last.trim_start().starts_with(['=', '#']) => without_heading(above.trim_end()),
        _ => text,
    }
}

/// Appends `…`, on a new line if the text ends with a fence.
fn cut_mark(text: &str) -> String {
    let after_fence = text.lines().last().is_some_and(|line| fence(line).is_some());
    format!("{text}{}", if after_fence { "\n…" } else { "…" })
}

fn end_of_block(head: &str, block: &OpenBlock) -> String {
    let before = head[..block.start].trim_end();
    let first_line = head[block.start..].find('\n').map(|end| block.start + end + 1);
    let last_line = head.rfind('\n').unwrap_or(0);
    match first_line {
        // The block has complete lines, and less than half of the text precedes it.
        Some(inside) if last_line >= inside && block.start * 2 < head.len() => {
            format!("{}\n{}\n…", head[..last_line].trim_end(), block.close)
        }
        _ if !before.is_empty() => cut_mark(before),
        // The text is only this block, whose first line exceeds the limit.
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

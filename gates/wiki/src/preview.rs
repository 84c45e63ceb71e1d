//! The beginning of a page, without a code block that is cut open.
//!
//! A reader, or a model, that meets an open fence takes all that follows for code. So a preview that
//! would end inside a block either ends before the block, or, where that would lose half of it, at a
//! whole line of the block and with the block closed.

use crate::line::{at_word, head};

/// Blocks of wiki text that hold code or formulas: how they begin and how they end.
const TAGS: [(&str, &str); 4] = [
    ("<syntaxhighlight", "</syntaxhighlight>"),
    ("<pre", "</pre>"),
    ("<source", "</source>"),
    ("<math", "</math>"),
];

/// The first `max` characters of the text, cut at a word. What was cut ends in `…`, on a line of its
/// own after a block that was closed.
pub fn preview(text: &str, max: usize) -> String {
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

/// A block that has begun and not ended.
struct Block {
    /// Where it begins.
    start: usize,
    /// What ends it.
    close: String,
}

fn end_of_block(head: &str, block: &Block) -> String {
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

/// The block that is open at the end of the text.
fn open_block(text: &str) -> Option<Block> {
    let mut open: Option<Block> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        open = after_line(line, start, open);
        start += line.len();
    }
    open
}

/// What is open after this line, which begins at `start`.
fn after_line(line: &str, start: usize, open: Option<Block>) -> Option<Block> {
    let Some(block) = open else {
        return match fence(line) {
            Some(close) => Some(Block { start, close }),
            None => open_tag(line, start),
        };
    };
    if block.close.starts_with('<') {
        return match line.find(&block.close) {
            Some(end) => {
                let rest = end + block.close.len();
                open_tag(&line[rest..], start + rest)
            }
            None => Some(block),
        };
    }
    // A fence is ended by one of the same kind that is at least as long, with nothing after it.
    let ends = fence(line).is_some_and(|f| f.starts_with(&block.close)) && {
        let mark = block.close.chars().next().unwrap_or('`');
        line.trim().chars().all(|c| c == mark)
    };
    (!ends).then_some(block)
}

/// The fence that the line begins with: three or more backticks or tildes.
fn fence(line: &str) -> Option<String> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    // Backticks with more backticks behind them are code within a line.
    let inline = mark == '`' && line[length..].contains('`');
    (length >= 3 && !inline).then(|| mark.to_string().repeat(length))
}

/// The first tag that is opened in the text and not closed in it.
fn open_tag(text: &str, start: usize) -> Option<Block> {
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let tags = TAGS.iter().filter_map(|(open, close)| rest.find(open).map(|i| (i, *open, *close)));
        let (begin, open, close) = tags.min_by_key(|(i, ..)| *i)?;
        let body = begin + open.len();
        // `<preview>` is not `<pre>`.
        let is_tag = !rest[body..].starts_with(|c: char| c.is_alphanumeric());
        let self_closing = rest[body..].find('>').is_some_and(|i| rest[body..body + i].ends_with('/'));
        at += match rest[body..].find(close) {
            Some(end) if is_tag => body + end + close.len(),
            None if is_tag && !self_closing => {
                return Some(Block { start: start + at + begin, close: close.to_owned() });
            }
            _ => body,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether every block in the preview is closed.
    fn closed(text: &str) -> bool {
        open_block(text).is_none()
    }

    #[test]
    fn short_text_is_whole_and_long_text_is_cut_at_a_word() {
        assert_eq!(preview("  all of it\n", 800), "all of it");
        let text = "lorem ipsum ".repeat(100);
        let cut = preview(&text, 800);
        assert!(cut.ends_with("lorem…") || cut.ends_with("ipsum…"), "{cut}");
        assert!(cut.chars().count() <= 801);
        assert_eq!(preview("one two three", 7), "one two…");
    }

    #[test]
    fn a_heading_is_not_the_last_thing() {
        let text = format!("== Overview ==\n{}\n\n=== Description ===\nmore of it", "word ".repeat(20));
        for max in 102..125 {
            assert!(preview(&text, max).ends_with("word…"), "{max}: {}", preview(&text, max));
        }
    }

    #[test]
    fn a_block_late_in_the_preview_is_left_out() {
        for (open, close) in
            [("```python", "```"), ("~~~", "~~~"), ("<syntaxhighlight lang=\"py\">", "</syntaxhighlight>")]
        {
            let text = format!("{}\n{open}\n{}{close}\nafter", "word ".repeat(20), "x = 1\n".repeat(50));
            let cut = preview(&text, 150);
            assert!(closed(&cut) && !cut.contains("x = 1") && cut.ends_with("word…"), "{cut}");
        }
    }

    #[test]
    fn a_block_early_in_the_preview_is_closed_at_a_whole_line() {
        for (open, close) in
            [("```python", "```"), ("````", "````"), ("<pre>", "</pre>"), ("<math>", "</math>")]
        {
            let text = format!("Intro.\n{open}\n{}{close}\nafter", "x = 1\n".repeat(50));
            let cut = preview(&text, 100);
            assert!(closed(&cut) && cut.ends_with(&format!("x = 1\n{close}\n…")), "{cut}");
        }
    }

    #[test]
    fn blocks_inside_blocks_and_inline_code_do_not_count() {
        assert!(closed("<syntaxhighlight lang=\"md\">\n```\nopen\n</syntaxhighlight>\n"));
        assert!(closed("```\n<syntaxhighlight>\n```\n"));
        assert!(closed("use ```a``` inline and <pre>one line</pre> and <preview> and <math/>"));
        assert!(!closed("````\n```\n"));
        assert!(!closed("<pre>a</pre> <math>x\n"));
    }

    #[test]
    fn no_cut_anywhere_leaves_a_block_open() {
        let text = "Ünïcode intro.\n<syntaxhighlight lang=\"python\">\nprint('hi')\n</syntaxhighlight>\nText `a`.\n\
                    ```bash\nls -la\n```\nMore <math>x^2\n+ y</math> words.\n~~~\nend\n~~~\n";
        for max in 1..text.chars().count() {
            let cut = preview(text, max);
            assert!(closed(&cut), "{max}: {cut}");
        }
    }
}

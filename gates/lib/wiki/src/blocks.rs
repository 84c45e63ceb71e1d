//! Finds code blocks in wiki text: fences, and tags such as `<syntaxhighlight>`.
//!
//! [`cut`] truncates text without leaving a block open, which would turn everything after it into code. Text that would
//! end inside a block ends before it, or, if that loses more than half, at a line of the block, which is then closed.

use crate::quote::{at_word, head};

const TAGS: [(&str, &str); 4] = [
    ("<syntaxhighlight", "</syntaxhighlight>"),
    ("<pre", "</pre>"),
    ("<source", "</source>"),
    ("<math", "</math>"),
];

pub(crate) struct OpenBlock {
    start: usize,
    close: String,
}

/// Returns the block that is open after a line that starts at `start`.
pub(crate) fn after_line(line: &str, start: usize, open: Option<OpenBlock>) -> Option<OpenBlock> {
    let Some(block) = open else {
        return match fence(line) {
            Some(close) => Some(OpenBlock { start, close }),
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
    // A closing fence has the same character, is at least as long, and has nothing after it.
    let ends = fence(line).is_some_and(|f| f.starts_with(&block.close)) && {
        let mark = block.close.chars().next().unwrap_or('`');
        line.trim().chars().all(|c| c == mark)
    };
    (!ends).then_some(block)
}

/// Returns the fence at the start of the line: three or more backticks or tildes.
fn fence(line: &str) -> Option<String> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    // Backticks followed by more backticks are inline code.
    let inline = mark == '`' && line[length..].contains('`');
    (length >= 3 && !inline).then(|| mark.to_string().repeat(length))
}

/// Returns the first tag that the text opens and does not close.
fn open_tag(text: &str, start: usize) -> Option<OpenBlock> {
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
                return Some(OpenBlock { start: start + at + begin, close: close.to_owned() });
            }
            _ => body,
        };
    }
}

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
    let (mut open, mut start) = (None, 0);
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
    fn blocks_inside_blocks_and_inline_code_do_not_count() {
        assert!(closed("<syntaxhighlight lang=\"md\">\n```\nopen\n</syntaxhighlight>\n"));
        assert!(closed("```\n<syntaxhighlight>\n```\n"));
        assert!(closed("use ```a``` inline and <pre>one line</pre> and <preview> and <math/>"));
        assert!(!closed("````\n```\n"));
        assert!(!closed("<pre>a</pre> <math>x\n"));
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

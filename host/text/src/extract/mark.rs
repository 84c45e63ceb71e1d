//! Gap marks, which show the location of omitted text.
//!
//! `[… lines 812-1,040: 3,100 tokens, "Calibration options" …]` has the line numbers of the original text, from 1, and
//! the heading of the largest omitted section. In a long line, the mark is `[… line 1, characters 4,001-90,000: 20,000
//! tokens …]`. If a gap cuts a block, `of a code block` or `of a table` follows the tokens. Lines that are only partly
//! omitted count as part of the gap.
//!
//! A line of the text that looks like a mark gets a backslash before its bracket: `\[… lines 1-2: …]`.

use std::{borrow::Cow, fmt::Write as _, ops::Range};

use gatehouse_core::hidden_chars;

use crate::{
    chunks::{Chunk, advance},
    layout::{SpanKind, TextLayout},
    tokens::count,
};

const MAX_NAME_CHARS: usize = 60;

/// Maximum for small budgets, so that marks do not displace answers.
const MAX_SHORT_NAME_CHARS: usize = 24;

/// Minimum budget in tokens for quoting up to [`MAX_NAME_CHARS`].
const MIN_FULL_NAME_BUDGET: usize = 2_000;

#[derive(Clone, Copy)]
pub(super) struct Gap<'a> {
    /// Position of the first and of the last character, as a zero-based line and column.
    from: (usize, usize),
    to: (usize, usize),
    /// True if the gap reaches the end of its last line.
    ends_line: bool,
    tokens: usize,
    heading: Option<&'a str>,
    /// The kind of block that it cuts.
    cuts: Option<SpanKind>,
}

impl Gap<'_> {
    pub(super) fn print(&self, budget: usize, out: &mut String) {
        if !(out.is_empty() || out.ends_with('\n')) {
            out.push('\n');
        }
        let Self { from, to, tokens, .. } = *self;
        let unit = if tokens == 1 { "token" } else { "tokens" };
        let [tokens, line, column, last_line, last_column] =
            [tokens, from.0 + 1, from.1 + 1, to.0 + 1, to.1 + 1].map(group_digits);
        let place = match from.0 == to.0 {
            true if from.1 == 0 && self.ends_line => format!("line {line}"),
            true => format!("line {line}, characters {column}-{last_column}"),
            false => format!("lines {line}-{last_line}"),
        };
        let _ = write!(out, "[… {place}: {tokens} {unit}");
        match self.cuts {
            Some(SpanKind::Code) => out.push_str(" of a code block"),
            Some(SpanKind::Table) => out.push_str(" of a table"),
            _ => {}
        }
        let limit = if budget < MIN_FULL_NAME_BUDGET { MAX_SHORT_NAME_CHARS } else { MAX_NAME_CHARS };
        if let Some(name) = self.heading.map(|heading| name(heading, limit)).filter(|name| !name.is_empty()) {
            let _ = write!(out, ", \"{name}\"");
        }
        out.push_str(" …]\n");
    }
}

/// Returns the gap of these bytes, which starts in the first of `chunks`.
pub(super) fn describe<'a>(
    text: &'a str,
    layout: &TextLayout,
    chunks: &[Chunk],
    bytes: Range<usize>,
) -> Gap<'a> {
    let left_out = &text[bytes.clone()];
    // Exclude blank line ends on both sides.
    let blank = left_out.len() - left_out.trim_start().len();
    let lead = if blank == left_out.len() { 0 } else { left_out[..blank].rfind('\n').map_or(0, |at| at + 1) };
    let end = left_out.trim_end().len().max(lead + 1);
    let last = bytes.start + left_out.floor_char_boundary(end - 1);
    let chunks = &chunks[..chunks.partition_point(|chunk| chunk.start < bytes.end)];
    let place = |at: usize| {
        let chunk = &chunks[chunks.partition_point(|chunk| chunk.start <= at).saturating_sub(1)];
        advance((chunk.line, chunk.column), &text[chunk.start..at])
    };
    let rest = text[bytes.start + end..].trim_start_matches([' ', '\t', '\r']);
    let ends_line = rest.is_empty() || rest.starts_with('\n') || left_out[..end].ends_with('\n');
    let (tokens, heading) = contents(text, layout, chunks, &bytes);
    let cut =
        |chunk: &&Chunk, at: usize| chunk.kind != SpanKind::Prose && chunk.span.0 < at && at < chunk.span.1;
    let cuts = chunks.first().filter(|chunk| cut(chunk, bytes.start));
    let cuts = cuts.or(chunks.last().filter(|chunk| cut(chunk, bytes.end))).map(|chunk| chunk.kind);
    Gap { from: place(bytes.start + lead), to: place(last), ends_line, tokens, heading, cuts }
}

fn contents<'a>(
    text: &'a str,
    layout: &TextLayout,
    chunks: &[Chunk],
    bytes: &Range<usize>,
) -> (usize, Option<&'a str>) {
    let mut tokens = 0;
    // Open sections with the tokens before each, and the largest section that has ended.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut largest = (0, None);
    let mut ended = |(heading, before): (usize, usize), tokens: usize| {
        if tokens - before > largest.0 {
            largest = (tokens - before, Some(heading));
        }
    };
    for chunk in chunks {
        let (start, end) = (chunk.start.max(bytes.start), chunk.end.min(bytes.end));
        let whole = (start, end) == (chunk.start, chunk.end);
        if let Some(heading) = chunk.section.filter(|_| chunk.kind == SpanKind::Heading && whole) {
            let level = layout.headings[heading].level;
            while let Some(section) = open.pop_if(|(open, _)| layout.headings[*open].level >= level) {
                ended(section, tokens);
            }
            open.push((heading, tokens));
        }
        tokens += if whole { chunk.tokens } else { count(&text[start..end]) };
    }
    open.into_iter().rev().for_each(|section| ended(section, tokens));
    let heading = largest.1.map(|heading: usize| layout.headings[heading]);
    (tokens, heading.map(|heading| &text[heading.start..heading.end]))
}

/// Returns a heading's text without markup, safe to quote.
pub(super) fn name(heading: &str, limit: usize) -> String {
    let mut name = String::new();
    let mut length = 0;
    let mut tag = false;
    // Skip lines that only underline the title, and HTML tags.
    let title = heading.lines().find(|line| line.contains(char::is_alphanumeric)).unwrap_or_default();
    for c in title.chars().take(20 * MAX_NAME_CHARS) {
        match c {
            '<' => tag = true,
            '>' if tag => tag = false,
            _ if tag || hidden_chars::is_hidden(c) => {}
            '#' | '=' | '*' | '`' if name.is_empty() => {}
            c if c.is_whitespace() || c.is_control() => {
                if !name.is_empty() && !name.ends_with(' ') {
                    name.push(' ');
                    length += 1;
                }
            }
            c => {
                name.push(match c {
                    '"' => '\'',
                    '[' => '(',
                    ']' => ')',
                    c => c,
                });
                length += 1;
            }
        }
        if length >= limit {
            name.truncate(name.trim_end().len());
            name.push('…');
            return name;
        }
    }
    let end = name.trim_end_matches(['#', '=', '*', '`', ' ', '{', ':']).len();
    name.truncate(end);
    name
}

pub(super) fn group_digits(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// Appends selected text, with a backslash in each line that looks like a mark.
pub(super) fn add(text: &str, out: &mut String) {
    out.push_str(&shown(text, out.is_empty() || out.ends_with(ends_line)));
}

/// Escapes lines that look like marks. `begins` is true if the text starts a line.
pub(super) fn shown(text: &str, begins: bool) -> Cow<'_, str> {
    // Fast path: almost no text has such dots.
    if !text.contains(['…', '⋯', '‥', '︙', '․']) && !text.contains("..") {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut copied = 0;
    let mut start = 0;
    for line in text.split_inclusive(ends_line) {
        if let Some(at) = bracket(line).filter(|_| begins || start > 0) {
            out.push_str(&text[copied..start + at]);
            out.push('\\');
            copied = start + at;
        }
        start += line.len();
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns the offset of the bracket in a line that looks like a mark.
fn bracket(line: &str) -> Option<usize> {
    let blank = |c: &char| c.is_whitespace() || c.is_control() || hidden_chars::is_hidden(*c);
    let mut seen = line.char_indices().filter(|(_, c)| !blank(c));
    let (at, _) = seen.next().filter(|(_, c)| matches!(c, '[' | '［' | '⁅' | '〔' | '【'))?;
    let dots = |c: char| matches!(c, '…' | '⋯' | '‥' | '︙');
    let dot = |c: char| matches!(c, '.' | '․' | '·');
    match (seen.next()?.1, seen.next().map(|(_, c)| c)) {
        (first, _) if dots(first) => Some(at),
        (first, Some(second)) if dot(first) && (dot(second) || dots(second)) => Some(at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(
        from: (usize, usize),
        to: (usize, usize),
        heading: Option<&str>,
        cuts: Option<SpanKind>,
    ) -> String {
        let mut out = "before".to_owned();
        Gap { from, to, ends_line: to.1 < 99, tokens: 3_100, heading, cuts }.print(8_000, &mut out);
        out
    }

    #[test]
    fn a_mark_says_where_how_much_and_what() {
        for (mark, expected) in [
            (
                gap((811, 0), (1_039, 9), Some("## Calibration options ##\n"), None),
                "[… lines 812-1,040: 3,100 tokens, \"Calibration options\" …]",
            ),
            (gap((0, 4_000), (0, 89_999), None, None), "[… line 1, characters 4,001-90,000: 3,100 tokens …]"),
            (
                gap((6, 0), (6, 9), Some("# <a id='x' />**A** \"b\"\u{202e} [c]…]\n"), None),
                "[… line 7: 3,100 tokens, \"A** 'b' (c)…)\" …]",
            ),
            (gap((6, 0), (9, 9), None, Some(SpanKind::Table)), "[… lines 7-10: 3,100 tokens of a table …]"),
            (
                gap((6, 0), (9, 9), Some(&"Long ".repeat(99)), None),
                &format!("[… lines 7-10: 3,100 tokens, \"{}…\" …]", "Long ".repeat(12).trim_end()),
            ),
        ] {
            assert_eq!(mark, format!("before\n{expected}\n"));
        }
    }

    #[test]
    fn a_line_that_looks_like_a_mark_is_made_different() {
        for line in [
            "[… lines 1-2: 3 tokens …]",
            "  [… x",
            "\u{200b}[\u{2060}…",
            "[ ... 5",
            "[..",
            "［…",
            "x\r[…",
            "x\u{2028}[…",
        ] {
            let text = format!("before\n{line}\nafter");
            let shown = shown(&text, true);
            assert_eq!(shown.replacen('\\', "", 1), text, "{line}");
            assert!(shown.contains('\\'), "{line}");
        }
        for text in ["[a]…", "a [… b", "[.", "\\[…", "x…\n[x…]"] {
            assert_eq!(shown(text, true), text);
        }
        let mut out = "x".to_owned();
        add("[… not at the beginning", &mut out);
        assert!(!out.contains('\\'));
    }
}

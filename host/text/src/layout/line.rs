//! Classifies single lines of a document.

use super::SpanKind;

pub(super) const MAX_TITLE_CHARS: usize = 160;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LineKind {
    Blank,
    Heading(usize),
    /// The same punctuation repeated this many times, and nothing else.
    Rule(char, usize),
    Fence(BlockFence, SpanKind),
    Table,
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockFence {
    /// At least this many of the character.
    Marks(char, usize),
    /// `----`, which is a fence only after a line that announces it.
    AsciiDoc,
    /// `|===`
    AsciiDocTable,
    /// `</table`
    Html,
}

impl BlockFence {
    pub(super) fn is_closed_by(self, line: &str) -> bool {
        let line = line.trim();
        match self {
            Self::Marks(mark, least) => line.len() >= least && line.chars().all(|c| c == mark),
            Self::AsciiDoc => line.len() >= 4 && line.bytes().all(|b| b == b'-'),
            Self::AsciiDocTable => line == "|===",
            Self::Html => contains(line, "</table"),
        }
    }
}

/// Bytes at each end of a line that are searched for a tag.
const MAX_TAG_BYTES: usize = 400;

fn contains(line: &str, tag: &str) -> bool {
    let bytes = line.as_bytes();
    let (head, tail) =
        (&bytes[..bytes.len().min(MAX_TAG_BYTES)], &bytes[bytes.len().saturating_sub(MAX_TAG_BYTES)..]);
    [head, tail].iter().any(|part| part.windows(tag.len()).any(|w| w.eq_ignore_ascii_case(tag.as_bytes())))
}

/// Lines at the start of a manual page, one of which is the title `NAME`.
const MANUAL_START_LINES: usize = 8;

/// Returns whether a text is a manual page as `man` prints it: titles in capitals at the margin.
pub(crate) fn is_manual(text: &str) -> bool {
    text.lines().take(MANUAL_START_LINES).any(|line| line.trim_end() == "NAME")
}

pub(super) fn is_manual_title(line: &str) -> bool {
    let title = line.trim_end();
    title.starts_with(|c: char| c.is_ascii_uppercase())
        && title.len() <= MAX_TITLE_CHARS
        && title.bytes().all(|b| b.is_ascii_uppercase() || b" -&/".contains(&b))
}

pub(super) fn mark(line: &str) -> LineKind {
    let text = line.trim_end();
    let content = text.trim_start();
    let Some(first) = content.chars().next() else { return LineKind::Blank };
    let indent = text.len() - content.len();
    match first {
        '`' | '~' => {
            let length = content.chars().take_while(|c| *c == first).count();
            let info = &content[length..];
            if length >= 3 && (first == '~' || !info.contains('`')) {
                return LineKind::Fence(BlockFence::Marks(first, length), SpanKind::Code);
            }
        }
        '#' | '=' if indent <= 3 => {
            let level = content.chars().take_while(|c| *c == first).count();
            let titled = content[level..].starts_with([' ', '\t']) && content.len() <= 4 * MAX_TITLE_CHARS;
            if level <= 6 && (titled || (first == '#' && content.len() == level)) {
                return LineKind::Heading(level);
            }
        }
        '|' if content == "|===" => return LineKind::Fence(BlockFence::AsciiDocTable, SpanKind::Table),
        '|' if content.len() > 1 => return LineKind::Table,
        '+' if content.starts_with("+-") || content.starts_with("+=") => return LineKind::Table,
        '<' if contains(content, "<table") && !contains(content, "</table") => {
            return LineKind::Fence(BlockFence::Html, SpanKind::Table);
        }
        '-' if content == "----" => return LineKind::Fence(BlockFence::AsciiDoc, SpanKind::Code),
        _ => {}
    }
    // An underline is as long as its title, so a rule that is too long has no meaning.
    let rule = first.is_ascii_punctuation()
        && content.len() <= 2 * MAX_TITLE_CHARS
        && content.bytes().all(|b| b == first as u8);
    if rule && indent == 0 && content.len() >= 3 {
        LineKind::Rule(first, content.len())
    } else {
        LineKind::Text
    }
}

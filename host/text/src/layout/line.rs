//! What one line of a document is.

use super::Kind;

/// Characters of a title at most.
pub(super) const TITLE: usize = 160;

/// What a line shows of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    Blank,
    /// A heading of this level.
    Heading(usize),
    /// The same punctuation so many times, and nothing else.
    Rule(char, usize),
    /// Begins a block.
    Fence(Fence, Kind),
    /// A row of a table.
    Table,
    Text,
}

/// What ends a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fence {
    /// At least so many of the character.
    Marks(char, usize),
    /// `----`, which is a fence only where a line before says so.
    AsciiDoc,
    /// `|===`
    AsciiDocTable,
    /// `</table`
    Html,
}

impl Fence {
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

/// Bytes of a line in which a tag is looked for.
const TAG: usize = 400;

fn contains(line: &str, tag: &str) -> bool {
    let bytes = line.as_bytes();
    let (head, tail) = (&bytes[..bytes.len().min(TAG)], &bytes[bytes.len().saturating_sub(TAG)..]);
    [head, tail].iter().any(|part| part.windows(tag.len()).any(|w| w.eq_ignore_ascii_case(tag.as_bytes())))
}

pub(super) fn mark(line: &str) -> Mark {
    let text = line.trim_end();
    let content = text.trim_start();
    let Some(first) = content.chars().next() else { return Mark::Blank };
    let indent = text.len() - content.len();
    match first {
        '`' | '~' => {
            let length = content.chars().take_while(|c| *c == first).count();
            let info = &content[length..];
            if length >= 3 && (first == '~' || !info.contains('`')) {
                return Mark::Fence(Fence::Marks(first, length), Kind::Code);
            }
        }
        '#' | '=' if indent <= 3 => {
            let level = content.chars().take_while(|c| *c == first).count();
            let titled = content[level..].starts_with([' ', '\t']) && content.len() <= 4 * TITLE;
            if level <= 6 && (titled || (first == '#' && content.len() == level)) {
                return Mark::Heading(level);
            }
        }
        '|' if content == "|===" => return Mark::Fence(Fence::AsciiDocTable, Kind::Table),
        '|' if content.len() > 1 => return Mark::Table,
        '+' if content.starts_with("+-") || content.starts_with("+=") => return Mark::Table,
        '<' if contains(content, "<table") && !contains(content, "</table") => {
            return Mark::Fence(Fence::Html, Kind::Table);
        }
        '-' if content == "----" => return Mark::Fence(Fence::AsciiDoc, Kind::Code),
        _ => {}
    }
    // An underline is as long as its title: a longer one is no rule that tells anything.
    let rule = first.is_ascii_punctuation()
        && content.len() <= 2 * TITLE
        && content.bytes().all(|b| b == first as u8);
    if rule && indent == 0 && content.len() >= 3 { Mark::Rule(first, content.len()) } else { Mark::Text }
}

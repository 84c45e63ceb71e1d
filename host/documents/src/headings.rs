//! Headings of prose and definitions of code.

mod definitions;
mod markdown;
mod markup;

use crate::{clean::one_line, kinds::FileKind};

const MAX_TITLE: usize = 120;

const MAX_HEADINGS: usize = 5_000;

/// Heading of prose, or the line that defines an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    /// From 0.
    pub(crate) line: usize,
    /// From 1, the outermost.
    pub(crate) level: u8,
    pub(crate) title: String,
}

impl Heading {
    /// Returns `None` if the title is empty after cleaning.
    fn new(line: usize, level: usize, title: &str) -> Option<Self> {
        let title = one_line(title, MAX_TITLE);
        let level = u8::try_from(level.clamp(1, 12)).unwrap_or(12);
        (!title.is_empty()).then_some(Self { line, level, title })
    }
}

/// Finds the headings of a text, whose lines keep their line ends.
pub(crate) fn headings(kind: FileKind, text: &str, lines: &[&str]) -> Vec<Heading> {
    let mut headings = match kind {
        FileKind::Markdown | FileKind::Converted | FileKind::Plain => markdown::headings(text),
        FileKind::Rst => markup::rst(lines),
        FileKind::AsciiDoc => markup::asciidoc(lines),
        FileKind::Source => definitions::definitions(lines),
        FileKind::Data => Vec::new(),
    };
    headings.truncate(MAX_HEADINGS);
    headings
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn render(found: Vec<Heading>) -> Vec<String> {
        found.into_iter().map(|one| format!("{}:{} {}", one.line, one.level, one.title)).collect()
    }

    pub(super) fn lines(text: &str) -> Vec<&str> {
        text.lines().collect()
    }
}

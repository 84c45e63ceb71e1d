//! Formats of tables, and the positions of their cells.

use std::ops::{ControlFlow, Range};

/// Byte range of a cell, without surrounding whitespace.
pub(super) type CellRange = Range<usize>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TableFormat {
    /// Cells between pipes, with a line of dashes under the header.
    Markdown,
    /// Cells separated by this byte, quoted if they contain it.
    Separated(u8),
    /// Cells separated by two or more spaces.
    Gaps,
    /// Cells separated by spaces. The last cell may contain spaces.
    Words,
}

impl TableFormat {
    /// The most reliable first.
    pub(super) const ALL: [Self; 6] = [
        Self::Markdown,
        Self::Separated(b'\t'),
        Self::Separated(b';'),
        Self::Separated(b','),
        Self::Gaps,
        Self::Words,
    ];

    /// Returns the minimum cells per row. Prose has commas and gaps too.
    pub(super) fn min_cells(self) -> usize {
        match self {
            Self::Markdown | Self::Separated(_) => 2,
            Self::Gaps | Self::Words => 3,
        }
    }

    /// Returns the number of cells of a record in a table of `width` cells.
    pub(super) fn width(self, cells: usize, width: Option<usize>) -> usize {
        match (self, width) {
            (Self::Words, Some(width)) => cells.min(width),
            _ => cells,
        }
    }

    /// Returns the cells of a record, the last one extended to `end` for [`Self::Words`].
    pub(super) fn merged(self, cells: &[CellRange], width: usize, end: usize) -> Vec<CellRange> {
        let mut cells = cells.to_vec();
        if self == Self::Words && cells.len() >= width {
            cells.truncate(width);
            cells.iter_mut().last().into_iter().for_each(|last| last.end = end);
        }
        cells
    }

    /// Calls `give` with each record, without its line end, and its cells, until it breaks. Skips blank lines.
    pub(super) fn records(
        self,
        text: &str,
        mut give: impl FnMut(CellRange, &[CellRange]) -> ControlFlow<()>,
    ) {
        if let Self::Separated(separator) = self {
            return separated(text, separator, give);
        }
        let mut cells: Vec<CellRange> = Vec::new();
        let (mut start, mut number) = (0, 0);
        for line in text.split_inclusive('\n') {
            let record = start..start + line.trim_ascii_end().len();
            start += line.len();
            cells.clear();
            match self {
                Self::Markdown => pipes(text, record.clone(), &mut cells),
                _ => blanks(text, record.clone(), if self == Self::Gaps { 2 } else { 1 }, &mut cells),
            }
            if cells.is_empty() && record.is_empty() {
                continue;
            }
            number += 1;
            let dashes = number == 2
                && cells.iter().all(|cell| text[cell.clone()].bytes().all(|b| matches!(b, b'-' | b':')));
            // A first line with lower-case words is prose.
            if number == 1
                && self != Self::Markdown
                && !cells.iter().all(|cell| is_title(&text[cell.clone()]))
            {
                return;
            }
            if (self != Self::Markdown || !dashes) && give(record, &cells).is_break() {
                return;
            }
        }
    }
}

/// Returns whether a word looks like a column title of a command's output.
fn is_title(word: &str) -> bool {
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    word.bytes().filter(u8::is_ascii_uppercase).count() == letters && letters > 0
}

/// Appends the cells of `| a | b |`, nothing for other lines.
fn pipes(text: &str, record: CellRange, cells: &mut Vec<CellRange>) {
    let line = &text[record.clone()];
    let inner = line.trim_ascii();
    let Some(inner) = inner.strip_prefix('|').and_then(|inner| inner.strip_suffix('|')) else { return };
    let mut at = record.start + line.len() - line.trim_ascii_start().len() + 1;
    let mut escaped = false;
    let mut start = at;
    for byte in inner.bytes() {
        if byte == b'|' && !escaped {
            cells.push(trimmed(text, start..at));
            start = at + 1;
        }
        escaped = byte == b'\\' && !escaped;
        at += 1;
    }
    cells.push(trimmed(text, start..at));
}

fn blanks(text: &str, record: CellRange, gap: usize, cells: &mut Vec<CellRange>) {
    let bytes = text[record.clone()].as_bytes();
    let mut start = None;
    let mut run = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(byte, b' ' | b'\t') {
            run += if *byte == b'\t' { gap } else { 1 };
            continue;
        }
        if let (Some(from), true) = (start, run >= gap) {
            cells.push(record.start + from..record.start + at - run.min(at));
            start = None;
        }
        start = start.or(Some(at));
        run = 0;
    }
    cells.extend(start.map(|from| record.start + from..record.end));
    cells.iter_mut().for_each(|cell| *cell = trimmed(text, cell.clone()));
}

fn trimmed(text: &str, cell: CellRange) -> CellRange {
    let part = &text[cell.clone()];
    let start = cell.start + part.len() - part.trim_ascii_start().len();
    start..start + part.trim_ascii().len()
}

/// Reads separated records by RFC 4180.
fn separated(text: &str, separator: u8, mut give: impl FnMut(CellRange, &[CellRange]) -> ControlFlow<()>) {
    let bytes = text.as_bytes();
    let mut cells: Vec<CellRange> = Vec::new();
    let (mut record, mut at) = (0, 0);
    while record < bytes.len() {
        let begin = at;
        if bytes.get(at) == Some(&b'"') {
            at += 1;
            while let Some(quote) = bytes[at..].iter().position(|b| *b == b'"') {
                at += quote + 1;
                if bytes.get(at) != Some(&b'"') {
                    break;
                }
                at += 1;
            }
        }
        let rest = &bytes[at..];
        at += rest.iter().position(|b| *b == separator || *b == b'\n').unwrap_or(rest.len());
        let end = if bytes.get(at) == Some(&separator) {
            at
        } else {
            at - usize::from(at > begin && bytes[at - 1] == b'\r')
        };
        cells.push(trimmed(text, begin..end));
        if bytes.get(at) == Some(&separator) {
            at += 1;
            continue;
        }
        if end > record && give(record..end, &cells).is_break() {
            return;
        }
        cells.clear();
        at += 1;
        record = at;
    }
}

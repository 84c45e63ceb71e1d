//! Formats of tables, and the positions of their cells.

use std::ops::{ControlFlow, Range};

use super::aligned::AlignedColumns;

/// Byte range of a cell, without surrounding whitespace.
pub(super) type CellRange = Range<usize>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TableFormat {
    /// Cells between bars, with rules of dashes between some lines: Markdown, `mysql`, and frames of box characters.
    Framed,
    /// Cells separated by this byte, quoted if they contain it.
    Separated(u8),
    /// Cells aligned with blanks.
    Aligned(AlignedColumns),
}

/// Characters between the cells of a framed table.
const BARS: [char; 4] = ['|', '│', '┃', '║'];

impl TableFormat {
    /// Returns the formats that a text could have, the most reliable first.
    pub(super) fn all(sample: &str) -> impl Iterator<Item = Self> {
        let separated = [b'\t', b';', b',', b'|'].map(Self::Separated);
        let aligned = std::iter::once_with(|| AlignedColumns::find(sample).map(Self::Aligned)).flatten();
        std::iter::once(Self::Framed).chain(separated).chain(aligned)
    }

    /// Returns the minimum cells per row. Prose has commas and gaps too.
    pub(super) fn min_cells(&self) -> usize {
        match self {
            Self::Framed | Self::Separated(_) => 2,
            Self::Aligned(_) => 3,
        }
    }

    /// Calls `give` with each record, without its line end, and its cells, until it breaks. Skips blank lines and rules.
    pub(super) fn records(
        &self,
        text: &str,
        mut give: impl FnMut(CellRange, &[CellRange]) -> ControlFlow<()>,
    ) {
        if let Self::Separated(separator) = self {
            return separated(text, *separator, give);
        }
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let record = start..start + line.trim_ascii_end().len();
            start += line.len();
            if record.is_empty() || is_rule(&text[record.clone()]) {
                continue;
            }
            let cells = match self {
                Self::Aligned(columns) => columns.cells(text, record.clone()).unwrap_or_default(),
                _ => between_bars(text, record.clone()),
            };
            if give(record, &cells).is_break() {
                return;
            }
        }
    }
}

/// Returns whether a line is drawn: `|---|:--:|`, `+-----+` or box characters.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let is_box = |c: char| ('\u{2500}'..='\u{257f}').contains(&c);
    let drawn = |c: char| is_box(c) || matches!(c, '-' | '=' | '+' | '|' | ':' | ' ');
    line.starts_with(|c: char| is_box(c) || matches!(c, '|' | '+'))
        && line.chars().any(|c| is_box(c) && !BARS.contains(&c) || matches!(c, '-' | '='))
        && line.chars().all(drawn)
}

/// Returns the cells of `| a | b |`, nothing for other lines.
fn between_bars(text: &str, record: CellRange) -> Vec<CellRange> {
    let line = text[record.clone()].trim();
    let Some(bar) = line.chars().next().filter(|first| BARS.contains(first)) else { return Vec::new() };
    let Some(inner) = line[bar.len_utf8()..].strip_suffix(bar) else { return Vec::new() };
    let begin = inner.as_ptr() as usize - text.as_ptr() as usize;
    let (mut cells, mut start, mut escaped) = (Vec::new(), begin, false);
    for (at, c) in inner.char_indices() {
        if c == bar && !escaped {
            cells.push(trimmed(text, start..begin + at));
            start = begin + at + bar.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    cells.push(trimmed(text, start..begin + inner.len()));
    cells
}

pub(super) fn trimmed(text: &str, cell: CellRange) -> CellRange {
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

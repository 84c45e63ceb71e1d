//! Columns aligned with blanks, as commands print them.
//!
//! Columns are separated by positions that are blank in the header and in nearly all rows. A value with blanks, such as
//! `2 hours ago`, stays in its column, because the header has no name there.

use std::collections::HashSet;

use unicode_width::UnicodeWidthChar;

use super::cells::{CellRange, trimmed};

/// Minimum percentage of rows that are blank between two columns.
const MIN_BLANK_PERCENT: usize = 90;

const MAX_SAMPLE_ROWS: usize = 200;

/// Minimum rows under a header that is not in capitals, which could be prose.
const MIN_ROWS_OF_PLAIN_HEADER: usize = 8;

/// Maximum width in columns of a terminal. Later text belongs to the last column.
const MAX_WIDTH: usize = 1_000;

/// Columns by their first and last position on a terminal, half-open. Between them, rows are blank.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AlignedColumns(Vec<(usize, usize)>);

impl AlignedColumns {
    /// Finds the columns of a text whose first line is a header. `None` if it has none.
    pub(super) fn find(sample: &str) -> Option<Self> {
        let mut lines = sample.lines().filter(|line| !line.trim().is_empty());
        let header = lines.next()?;
        let rows: Vec<&str> = lines.take(MAX_SAMPLE_ROWS).collect();
        let words: Vec<&str> = header.split_whitespace().collect();
        let is_plain = !words.iter().all(|word| is_title(word));
        let has_gap = header.trim().contains("  ") || header.trim().contains('\t');
        if is_plain && (rows.len() < MIN_ROWS_OF_PLAIN_HEADER || !has_gap) {
            return None;
        }
        let columns = Self::between_gutters(header, &rows);
        let columns = Self(columns.without_empty_ones(header, &rows));
        (!is_plain || !columns.repeats_header(header, &rows)).then_some(columns)
    }

    fn between_gutters(header: &str, rows: &[&str]) -> Self {
        let names = filled(header);
        let mut counts = vec![0_usize; names.len()];
        for row in rows {
            for (count, is_filled) in counts.iter_mut().zip(filled(row)) {
                *count += usize::from(is_filled);
            }
        }
        let is_gutter =
            |at: usize| !names[at] && (rows.len() - counts[at]) * 100 >= rows.len() * MIN_BLANK_PERCENT;
        let mut columns: Vec<(usize, usize)> = Vec::new();
        let mut at = 0;
        while at < names.len() {
            if is_gutter(at) {
                at += 1;
                continue;
            }
            let start = at;
            while at < names.len() && !is_gutter(at) {
                at += 1;
            }
            match columns.last_mut() {
                // Without a name, it belongs to the column before it.
                Some(last) if !names[start..at].contains(&true) => last.1 = at,
                _ => columns.push((start, at)),
            }
        }
        // The last column has the rest of each line.
        if let Some(last) = columns.last_mut() {
            last.1 = usize::MAX;
        }
        Self(columns)
    }

    /// Joins columns that no row fills, and that are one blank from the name before them: `LAST SEEN` is one name.
    fn without_empty_ones(self, header: &str, rows: &[&str]) -> Vec<(usize, usize)> {
        let names = filled(header);
        let first_start = self.0.first().map_or(0, |first| first.0);
        let rows: Vec<Vec<CellRange>> = rows.iter().filter_map(|row| self.cells(row, 0..row.len())).collect();
        let mut joined: Vec<(usize, usize)> = Vec::new();
        for (number, (start, end)) in self.0.into_iter().enumerate() {
            let is_empty = rows.iter().all(|cells| cells[number].is_empty());
            let name_start = (start..names.len()).find(|at| names[*at]).unwrap_or(start);
            let is_near = name_start >= 2 && names[name_start - 2];
            // `Mounted on` is one name, too.
            let continues = lower_case(header, start) && !lower_case(header, first_start);
            match joined.last_mut() {
                Some(last) if is_near && (is_empty || continues) => last.1 = end,
                _ => joined.push((start, end)),
            }
        }
        joined
    }

    /// Whether a row has a name of the header in its own column: then the first line is a row.
    fn repeats_header(&self, header: &str, rows: &[&str]) -> bool {
        let cells = |line: &str| {
            let cells = self.cells(line, 0..line.len()).unwrap_or_default();
            cells.into_iter().map(|cell| line[cell].to_owned()).enumerate().collect::<HashSet<_>>()
        };
        let names = cells(header);
        rows.iter().any(|row| cells(row).iter().any(|cell| !cell.1.is_empty() && names.contains(cell)))
    }

    /// Returns a cell for each column. `None` if a value crosses all the blanks between two columns.
    pub(super) fn cells(&self, text: &str, record: CellRange) -> Option<Vec<CellRange>> {
        let last = self.0.last()?.0;
        // The byte at each position, or nothing if the position is blank.
        let mut places: Vec<(usize, bool)> = Vec::with_capacity(last);
        for (offset, c) in text[record.clone()].char_indices() {
            if places.len() > last {
                break;
            }
            let width = width(c, places.len());
            places.resize(places.len() + width, (record.start + offset, !c.is_whitespace()));
        }
        let first = self.0[0].0.min(places.len());
        if places[..first].iter().any(|(_, is_filled)| *is_filled) {
            return None;
        }
        let mut cells = Vec::with_capacity(self.0.len());
        let mut start = record.start;
        for columns in self.0.windows(2) {
            let (from, to) = (columns[0].1, columns[1].0);
            let blank = longest_blank(&places, from, to)?;
            let end = places.get(blank).map_or(record.end, |(byte, _)| *byte);
            cells.push(trimmed(text, start..end));
            start = end;
        }
        cells.push(trimmed(text, start..record.end));
        Some(cells)
    }
}

/// Returns the start of the longest run of blanks between two positions. `None` if there is none, or if two are the
/// longest: then either could be inside a value. A line that ends before is blank there.
fn longest_blank(places: &[(usize, bool)], from: usize, to: usize) -> Option<usize> {
    let is_blank = |at: usize| places.get(at).is_none_or(|(_, is_filled)| !is_filled);
    let (mut longest, mut is_unique, mut start) = (from..from, true, from);
    for at in from..=to {
        if at < to && is_blank(at) {
            continue;
        }
        if at - start > longest.len() {
            (longest, is_unique) = (start..at, true);
        } else if at > start && at - start == longest.len() {
            is_unique = false;
        }
        start = at + 1;
    }
    (!longest.is_empty() && is_unique).then_some(longest.start)
}

/// Whether the first letter of a line at or after a position is a small one.
fn lower_case(line: &str, position: usize) -> bool {
    line.chars().skip(position).find(|c| c.is_alphabetic()).is_some_and(char::is_lowercase)
}

/// Returns the positions of a line that are not blank.
fn filled(line: &str) -> Vec<bool> {
    let mut places = Vec::new();
    for c in line.trim_end().chars() {
        let width = width(c, places.len());
        places.resize(places.len() + width, !c.is_whitespace());
        if places.len() > MAX_WIDTH {
            break;
        }
    }
    places
}

fn width(c: char, at: usize) -> usize {
    match c {
        '\t' => 8 - at % 8,
        c => c.width().unwrap_or(0),
    }
}

/// Returns whether a word looks like a column title of a command's output.
fn is_title(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    letters > 0 && !word.chars().any(char::is_lowercase)
}

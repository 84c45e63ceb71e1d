//! Reads tables as rows: values separated by commas, semicolons, tabs or bars (RFC 4180), framed tables, columns aligned
//! with blanks, and records with a line for each value.
//!
//! A row becomes an object with the header cells as keys, or an array without a header. Empty cells are omitted from
//! objects. A line with another number of cells becomes a string and is counted.

mod aligned;
mod cells;
mod json;
mod records;

use std::ops::ControlFlow;

use super::{
    document::{NodeBuilder, NodeIndex, NodeKind, ParsedDocument},
    kind::TextSample,
    measure,
    row_sampler::{MAX_NODES, RowSampler},
    value::quoted,
};
use cells::{CellRange, TableFormat};
pub use json::rows;

const MAX_SAMPLE_RECORDS: usize = 200;
const MIN_RECORDS: usize = 3;

/// Rows of a large text after which it is no table if too many of them are broken.
const JUDGED_ROWS: usize = 4_096;

const MAX_HEADER_CELL_BYTES: usize = 64;

const MAX_COLUMNS: usize = 256;

const MAX_TITLE_BYTES: usize = 200;
const MAX_TITLE_LINES: usize = 3;

/// Reads a text as rows, only some of them if it is very large. `None` if it is not a table.
pub(super) fn read<'a>(text: &'a str, query: &str, sample: &TextSample<'a>) -> Option<ParsedDocument<'a>> {
    if let Some(records) = records::read(text) {
        return Some(records);
    }
    read_from(text, 0, query, sample).or_else(|| {
        let start = after_title(sample.text)?;
        read_from(text, start, query, sample)
    })
}

/// Returns the end of a short title, which a blank line separates from the table.
fn after_title(text: &str) -> Option<usize> {
    let end = text.get(..text.floor_char_boundary(MAX_TITLE_BYTES))?.find("\n\n")? + 2;
    (text[..end].lines().count() <= MAX_TITLE_LINES + 1).then_some(end)
}

fn read_from<'a>(
    text: &'a str,
    start: usize,
    query: &str,
    sample: &TextSample<'_>,
) -> Option<ParsedDocument<'a>> {
    let (title, text) = text.split_at(start);
    let head = &sample.text[start..];
    let format = TableFormat::all(head).find(|format| fits(format, head, sample.cut))?;
    let mut builder = TableBuilder::new(text, None);
    let end = builder.records(&format);
    if builder.is_full() {
        let nodes = MAX_NODES.saturating_mul(text.len()) / end.max(1);
        drop(builder);
        builder = TableBuilder::new(text, Some(RowSampler::new(nodes, query)));
        builder.records(&format);
    }
    builder.finish(title.trim())
}

/// Returns whether 95 % of the sampled records have as many cells as the first one. `cut` tells that the sample has only
/// the beginning of the text.
fn fits(format: &TableFormat, head: &str, cut: bool) -> bool {
    let mut widths: Vec<usize> = Vec::new();
    let (mut named, mut measured) = (false, false);
    format.records(head, |_, cells| {
        if widths.is_empty() {
            named = header(head, cells);
            measured = cells.iter().any(|cell| is_measure(&head[cell.clone()]));
        }
        if widths.len() < MAX_SAMPLE_RECORDS {
            widths.push(cells.len());
        }
        ControlFlow::Continue(())
    });
    // The sample may cut off the last record.
    if cut {
        widths.pop();
    }
    let Some(&width) = widths.first() else { return false };
    let same = widths.iter().filter(|w| **w == width).count();
    let wide = if named { format.min_cells() } else { format.min_cells() + 1 };
    (wide..=MAX_COLUMNS).contains(&width)
        && widths.len() >= MIN_RECORDS
        && same * 20 >= widths.len() * 19
        && (named || measured && matches!(format, TableFormat::Separated(separator) if *separator != b'|'))
}

/// Returns whether a record is a header: short, distinct names that are not numbers.
fn header<'a>(text: &'a str, cells: &[CellRange]) -> bool {
    let unquoted =
        |cell: &'a str| cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell);
    let names: Vec<&str> = cells.iter().map(|cell| unquoted(&text[cell.clone()])).collect();
    // Characters of sentences and code that names do not have.
    let mark = |c: char| matches!(c, '=' | '[' | ']' | '{' | '}' | '"' | ';' | '?' | '!');
    let name = |n: &&str| {
        let fits = (1..=MAX_HEADER_CELL_BYTES).contains(&n.len());
        fits && !n.ends_with(['.', ',']) && !n.contains(mark) && !is_measure(n)
    };
    let different = names.iter().enumerate().all(|(at, name)| !names[..at].contains(name));
    names.iter().all(name) && different
}

fn is_measure(cell: &str) -> bool {
    measure::number(cell).or(measure::date(cell)).is_some()
}

struct TableBuilder<'a> {
    text: &'a str,
    tree: NodeBuilder,
    /// Header cells. `None` before the first record, empty without a header.
    names: Option<Vec<CellRange>>,
    width: usize,
    rows: usize,
    broken: usize,
    sampler: Option<RowSampler>,
}

impl<'a> TableBuilder<'a> {
    fn new(text: &'a str, sampler: Option<RowSampler>) -> Self {
        let mut tree = NodeBuilder::default();
        tree.push(NodeKind::Array, 0..text.len(), 0, 0);
        Self { text, tree, names: None, width: 0, rows: 0, broken: 0, sampler }
    }

    /// Reads the records, without a sampler only until there are [`MAX_NODES`]. Returns the end of the last one.
    fn records(&mut self, format: &TableFormat) -> usize {
        let mut end = 0;
        format.records(self.text, |record, cells| {
            end = record.end;
            self.record(record, cells);
            let full = self.sampler.is_none() && self.is_full();
            let broken = self.rows >= JUDGED_ROWS && self.is_broken();
            if full || broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        end
    }

    fn is_full(&self) -> bool {
        self.tree.nodes.len() >= MAX_NODES
    }

    fn is_broken(&self) -> bool {
        self.broken * 10 > self.rows
    }

    fn record(&mut self, record: CellRange, cells: &[CellRange]) {
        let Some(names) = self.names.take() else {
            let named = header(self.text, cells);
            self.width = cells.len();
            self.names = Some(if named { cells.to_vec() } else { Vec::new() });
            if !named {
                self.record(record, cells);
            }
            return;
        };
        if cells.len() != self.width {
            if !self.is_full() {
                self.tree.push(NodeKind::String, record, 0, self.rows);
            }
            self.broken += 1;
        } else if self.samples(&record, cells) {
            let kind = if names.is_empty() { NodeKind::Array } else { NodeKind::Object };
            let row = self.tree.push(kind, record.clone(), 0, self.rows);
            self.cells(row, &names, cells);
        }
        self.rows += 1;
        self.names = Some(names);
    }

    fn samples(&mut self, record: &CellRange, cells: &[CellRange]) -> bool {
        let Some(sampler) = &mut self.sampler else { return true };
        let first = self.tree.nodes.len();
        // The end of a table may have far more cells than the estimate from its beginning.
        if first >= MAX_NODES {
            sampler.left_out += 1;
            return false;
        }
        for (column, cell) in (0..).zip(cells) {
            sampler.note(column, &self.text[cell.clone()], first);
        }
        sampler.keeps(self.rows, first, self.text.as_bytes(), record.clone())
    }

    fn cells(&mut self, row: NodeIndex, names: &[CellRange], cells: &[CellRange]) {
        let mut len = 0;
        for (at, cell) in cells.iter().enumerate() {
            let text = &self.text[cell.clone()];
            match names.get(at) {
                Some(_) if text.is_empty() => continue,
                Some(name) => {
                    self.tree.push(NodeKind::String, name.clone(), row, len);
                }
                None => {}
            }
            self.tree.push(value_kind(text), cell.clone(), row, len);
            len += 1;
        }
        self.tree.close(row, len);
    }

    fn finish(mut self, title: &str) -> Option<ParsedDocument<'a>> {
        self.tree.close(ParsedDocument::ROOT, self.rows);
        if self.rows + 1 < MIN_RECORDS || self.is_broken() {
            return None;
        }
        let without_header = self.names.is_some_and(|names| names.is_empty());
        let named = if without_header { "without a header" } else { "with a header" };
        let broken = match self.broken {
            0 => String::new(),
            broken => format!("; {broken} lines have another number of cells"),
        };
        let Self { width, rows, .. } = self;
        let title = match title {
            "" => String::new(),
            title => format!(", under the title {}", quoted(title, MAX_TITLE_BYTES)),
        };
        let note = format!(
            "A table of {width} columns {named} and {rows} rows, starting with `$[0]`{broken}{title}"
        );
        Some(ParsedDocument::from_nodes(self.text, self.tree.nodes, Some(note), self.sampler))
    }
}

fn value_kind(text: &str) -> NodeKind {
    match text {
        "" => NodeKind::Null,
        text if measure::number(text).is_some() => NodeKind::Number,
        _ => NodeKind::String,
    }
}

#[cfg(test)]
mod tests;

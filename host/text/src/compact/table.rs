//! Encodes a list or a map of objects as a table.

use super::{
    cell::{SEPARATOR, cell, key, minified, string},
    table_columns::{ColumnEncoding, TableColumn, columns},
};
use crate::digest::document::{NodeIndex, NodeKind, ParsedDocument};

const MIN_TABLE_ROWS: usize = 2;

/// A table as text, and which notations it uses.
pub(super) struct CompactTable {
    /// Text after the table's name: the line of keys, then a line per row.
    pub(super) text: String,
    pub(super) keyed: bool,
    pub(super) nested: bool,
    pub(super) same: bool,
    pub(super) prefixed: bool,
    pub(super) lists: bool,
    pub(super) missing: bool,
}

impl CompactTable {
    /// Returns `None` if the elements are not objects with similar keys, or if the table would not be shorter.
    pub(super) fn from_node(document: &ParsedDocument<'_>, id: NodeIndex) -> Option<Self> {
        let keyed = document.kind(id) == NodeKind::Object;
        let (keys, rows): (Vec<Option<NodeIndex>>, Vec<NodeIndex>) = document.members(id).unzip();
        if rows.len() < MIN_TABLE_ROWS || !rows.iter().all(|row| document.kind(*row) == NodeKind::Object) {
            return None;
        }
        if keyed && !different(document, &keys) {
            return None;
        }
        let columns = columns(document, &rows)?;
        let any = |has: fn(&TableColumn) -> bool| columns.iter().any(has);
        let mut table = Self {
            text: format!("{}: ", if keyed { "{}" } else { "" }),
            keyed,
            nested: any(|column| column.path.len() > 1),
            same: any(|column| matches!(column.form, ColumnEncoding::Same)),
            prefixed: any(|column| matches!(column.form, ColumnEncoding::Prefix(_))),
            lists: any(|column| matches!(column.form, ColumnEncoding::Lists(_))),
            missing: any(|column| column.cells.contains(&None)),
        };
        let heads: Vec<String> = columns.iter().map(|column| head(document, column)).collect();
        table.text.push_str(&heads.join("|"));
        for (row, own) in keys.iter().enumerate() {
            table.text.push('\n');
            let cells = columns.iter().filter(|column| !matches!(column.form, ColumnEncoding::Same));
            let own = own.map(|own| cell(document, own));
            let cells = own.into_iter().chain(cells.map(|column| value(document, column, row)));
            for (n, cell) in cells.enumerate() {
                table.text.extend((n > 0).then_some(SEPARATOR));
                table.text.push_str(&cell);
            }
            // Missing cells at the end need no separators. No cell ends with one.
            table.text.truncate(table.text.trim_end_matches(SEPARATOR).len());
        }
        let mut plain = String::new();
        minified(document.source(id), &mut plain);
        (table.text.len() < plain.len()).then_some(table)
    }
}

fn different(document: &ParsedDocument<'_>, keys: &[Option<NodeIndex>]) -> bool {
    let mut keys: Vec<_> = keys.iter().flatten().map(|key| document.string(*key)).collect();
    keys.sort();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

fn head(document: &ParsedDocument<'_>, column: &TableColumn) -> String {
    let mut out = String::new();
    for (n, step) in column.path.iter().enumerate() {
        out.push_str(if n > 0 { "." } else { "" });
        key(document, *step, &mut out);
    }
    let first = column.cells.iter().flatten().next();
    match (&column.form, first) {
        (ColumnEncoding::Plain, _) | (_, None) => {}
        (ColumnEncoding::Same, Some(first)) => {
            out.push('=');
            out.push_str(&cell(document, *first));
        }
        (ColumnEncoding::Prefix(length), Some(first)) => {
            out.push_str("^=");
            string(&document.raw(*first)[..*length], &mut out);
        }
        (ColumnEncoding::Lists(keys), _) => {
            for (n, name) in keys.iter().enumerate() {
                out.push(if n > 0 { ',' } else { '[' });
                key(document, *name, &mut out);
            }
            out.push(']');
        }
    }
    out
}

fn value(document: &ParsedDocument<'_>, column: &TableColumn, row: usize) -> String {
    let Some(id) = column.cells[row] else { return String::new() };
    match &column.form {
        ColumnEncoding::Plain | ColumnEncoding::Same => cell(document, id),
        ColumnEncoding::Prefix(length) => {
            let mut out = String::new();
            string(&document.raw(id)[*length..], &mut out);
            out
        }
        ColumnEncoding::Lists(_) => {
            let mut out = String::from("[");
            for (n, object) in document.children(id).enumerate() {
                out.push_str(if n > 0 { ",[" } else { "[" });
                for (n, value) in document.children(object).enumerate() {
                    out.push_str(if n > 0 { "," } else { "" });
                    minified(document.source(value), &mut out);
                }
                out.push(']');
            }
            out + "]"
        }
    }
}

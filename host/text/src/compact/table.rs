//! Encodes a list or a map of objects as a table.

use std::collections::HashMap;

use super::{SEPARATOR, cell, key, minified, string, text};
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
        if keyed && !distinct(document, keys.iter().flatten()) {
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
        for (row, key) in keys.iter().enumerate() {
            table.text.push('\n');
            let cells = columns.iter().filter(|column| !matches!(column.form, ColumnEncoding::Same));
            let key = key.map(|key| cell(document, key));
            let cells = key.into_iter().chain(cells.map(|column| value(document, column, row)));
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

const MAX_COLUMNS: usize = 64;

/// Maximum depth at which nested objects become columns.
const MAX_COLUMN_DEPTH: usize = 4;

/// Minimum length of a prefix that is factored out, and minimum rows that share it.
const MIN_PREFIX_BYTES: usize = 8;
const MIN_PREFIXED_ROWS: usize = 3;

struct TableColumn {
    path: Vec<NodeIndex>,
    cells: Vec<Option<NodeIndex>>,
    form: ColumnEncoding,
}

enum ColumnEncoding {
    Plain,
    /// Once, because all rows have the same value.
    Same,
    /// Without the common prefix of this many bytes.
    Prefix(usize),
    /// Lists of objects with the same keys, as lists of lists.
    Lists(Vec<NodeIndex>),
}

/// Returns `None` if a row has a duplicate key or the rows have too little in common.
fn columns(document: &ParsedDocument<'_>, rows: &[NodeIndex]) -> Option<Vec<TableColumn>> {
    let rows: Vec<Option<NodeIndex>> = rows.iter().map(|row| Some(*row)).collect();
    let mut columns = Vec::new();
    gather(document, &rows, &[], &mut columns)?;
    for column in &mut columns {
        column.form = form(document, &column.cells);
    }
    // Each row needs at least one cell to be a line.
    if columns.iter().all(|column| matches!(column.form, ColumnEncoding::Same)) {
        columns.iter_mut().take(1).for_each(|column| column.form = ColumnEncoding::Plain);
    }
    (!columns.is_empty()).then_some(columns)
}

fn gather(
    document: &ParsedDocument<'_>,
    objects: &[Option<NodeIndex>],
    path: &[NodeIndex],
    columns: &mut Vec<TableColumn>,
) -> Option<()> {
    let mut groups: Vec<(NodeIndex, Vec<Option<NodeIndex>>)> = Vec::new();
    let mut positions: HashMap<&str, usize> = HashMap::new();
    let mut members = 0;
    for (row, object) in objects.iter().enumerate() {
        let Some(object) = object else { continue };
        for (key, value) in document.members(*object) {
            let key = key?;
            let at = *positions.entry(document.raw(key)).or_insert(groups.len());
            if at == groups.len() {
                if at + columns.len() >= MAX_COLUMNS {
                    return None;
                }
                groups.push((key, vec![None; objects.len()]));
            }
            if groups[at].1[row].replace(value).is_some() {
                return None;
            }
            members += 1;
        }
    }
    let present = objects.iter().flatten().count();
    if members * 2 < groups.len() * present || !distinct(document, groups.iter().map(|(key, _)| key)) {
        return None;
    }
    for (key, cells) in groups {
        let path: Vec<NodeIndex> = path.iter().copied().chain([key]).collect();
        let filled = |id: &NodeIndex| document.kind(*id) == NodeKind::Object && document.len(*id) > 0;
        let before = columns.len();
        let apart = path.len() <= MAX_COLUMN_DEPTH
            && cells.iter().flatten().all(filled)
            && gather(document, &cells, &path, columns).is_some();
        if !apart {
            columns.truncate(before);
            columns.push(TableColumn { path, cells, form: ColumnEncoding::Plain });
        }
    }
    (columns.len() <= MAX_COLUMNS).then_some(())
}

/// Returns whether keys that are written differently are different: `a` and `\u0061` are not.
fn distinct<'k>(document: &ParsedDocument<'_>, keys: impl Iterator<Item = &'k NodeIndex>) -> bool {
    let mut keys: Vec<_> = keys.map(|key| document.string(*key)).collect();
    keys.sort();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

fn form(document: &ParsedDocument<'_>, cells: &[Option<NodeIndex>]) -> ColumnEncoding {
    let values: Vec<NodeIndex> = cells.iter().flatten().copied().collect();
    let Some(&first) = values.first() else { return ColumnEncoding::Plain };
    let whole = values.len() == cells.len();
    if whole && values.iter().all(|id| document.source(*id) == document.source(first)) {
        return ColumnEncoding::Same;
    }
    if document.kind(first) == NodeKind::Array {
        return lists(document, &values).map_or(ColumnEncoding::Plain, ColumnEncoding::Lists);
    }
    match prefix(document, &values) {
        length if whole && values.len() >= MIN_PREFIXED_ROWS && length >= MIN_PREFIX_BYTES => {
            ColumnEncoding::Prefix(length)
        }
        _ => ColumnEncoding::Plain,
    }
}

/// Returns the keys if all objects in all lists have the same ones.
fn lists(document: &ParsedDocument<'_>, lists: &[NodeIndex]) -> Option<Vec<NodeIndex>> {
    if !lists.iter().all(|list| document.kind(*list) == NodeKind::Array) {
        return None;
    }
    let keys = |object: NodeIndex| -> Option<Vec<NodeIndex>> {
        let object = Some(object).filter(|object| document.kind(*object) == NodeKind::Object)?;
        document.members(object).map(|(key, _)| key).collect()
    };
    let mut objects = lists.iter().flat_map(|list| document.children(*list));
    let expected = keys(objects.next()?)?;
    let same = |object: NodeIndex| {
        keys(object).is_some_and(|keys| {
            keys.len() == expected.len()
                && keys.iter().zip(&expected).all(|(a, b)| document.raw(*a) == document.raw(*b))
        })
    };
    let some = !expected.is_empty() && expected.len() <= MAX_COLUMNS;
    (some && distinct(document, expected.iter()) && objects.all(same)).then_some(expected)
}

/// Returns the length of the common prefix up to the end of a word, 0 if a value is not a string or has escapes.
fn prefix(document: &ParsedDocument<'_>, strings: &[NodeIndex]) -> usize {
    let plain = |id: &NodeIndex| {
        let kind = document.kind(*id) == NodeKind::String;
        kind && !document.raw(*id).contains('\\') && text(document, *id).is_some()
    };
    let Some((first, others)) = strings.split_first().filter(|_| strings.iter().all(plain)) else { return 0 };
    let first = document.raw(*first);
    let mut length = first.len();
    for other in others {
        let other = document.raw(*other).as_bytes();
        length = first.as_bytes()[..length].iter().zip(other).take_while(|(a, b)| a == b).count();
    }
    let common = &first[..first.floor_char_boundary(length)];
    common.rfind(|c: char| c.is_ascii_punctuation() || c == ' ').map_or(0, |last| last + 1)
}

//! Finds the columns of a list of objects, and the values that need no cell.

use std::collections::HashMap;

use super::cell;
use crate::digest::document::{NodeIndex, NodeKind, ParsedDocument};

const MAX_COLUMNS: usize = 64;

/// Maximum depth at which nested objects become columns.
const MAX_COLUMN_DEPTH: usize = 4;

/// Minimum length of a prefix that is factored out, and minimum rows that share it.
const MIN_PREFIX_BYTES: usize = 8;
const MIN_PREFIXED_ROWS: usize = 3;

pub(super) struct TableColumn {
    pub(super) path: Vec<NodeIndex>,
    pub(super) cells: Vec<Option<NodeIndex>>,
    pub(super) form: ColumnEncoding,
}

pub(super) enum ColumnEncoding {
    Plain,
    /// Once, because all rows have the same value.
    Same,
    /// Without the common prefix of this many bytes.
    Prefix(usize),
    /// Lists of objects with the same keys, as lists of lists.
    Lists(Vec<NodeIndex>),
}

/// Returns `None` if a row has a duplicate key or the rows have too little in common.
pub(super) fn columns(document: &ParsedDocument<'_>, rows: &[NodeIndex]) -> Option<Vec<TableColumn>> {
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
    let mut known: HashMap<&str, usize> = HashMap::new();
    let mut members = 0;
    for (row, object) in objects.iter().enumerate() {
        let Some(object) = object else { continue };
        for (key, value) in document.members(*object) {
            let key = key?;
            let at = *known.entry(document.raw(key)).or_insert(groups.len());
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
    if members * 2 < groups.len() * present || !distinct(document, &groups) {
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
fn distinct(document: &ParsedDocument<'_>, groups: &[(NodeIndex, Vec<Option<NodeIndex>>)]) -> bool {
    let mut keys: Vec<_> = groups.iter().map(|(key, _)| document.string(*key)).collect();
    keys.sort();
    keys.windows(2).all(|pair| pair[0] != pair[1])
}

fn form(document: &ParsedDocument<'_>, cells: &[Option<NodeIndex>]) -> ColumnEncoding {
    let all: Vec<NodeIndex> = cells.iter().flatten().copied().collect();
    let Some(&first) = all.first() else { return ColumnEncoding::Plain };
    let whole = all.len() == cells.len();
    if whole && all.iter().all(|id| document.source(*id) == document.source(first)) {
        return ColumnEncoding::Same;
    }
    if document.kind(first) == NodeKind::Array {
        return lists(document, &all).map_or(ColumnEncoding::Plain, ColumnEncoding::Lists);
    }
    match prefix(document, &all) {
        length if whole && all.len() >= MIN_PREFIXED_ROWS && length >= MIN_PREFIX_BYTES => {
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
    let groups: Vec<(NodeIndex, Vec<Option<NodeIndex>>)> =
        expected.iter().map(|key| (*key, Vec::new())).collect();
    let some = !expected.is_empty() && expected.len() <= MAX_COLUMNS;
    (some && distinct(document, &groups) && objects.all(same)).then_some(expected)
}

/// Returns the length of the common prefix up to the end of a word, 0 if a value is not a string or has escapes.
fn prefix(document: &ParsedDocument<'_>, strings: &[NodeIndex]) -> usize {
    let plain = |id: &NodeIndex| {
        let kind = document.kind(*id) == NodeKind::String;
        kind && !document.raw(*id).contains('\\') && cell::text(document, *id).is_some()
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

//! Records with a line for each value, as `mysql` prints them with `\G` and `psql` with `\x`.

use std::collections::HashSet;

use super::{
    super::document::{NodeBuilder, NodeKind, ParsedDocument},
    MIN_RECORDS, value_kind,
};
use crate::digest::row_sampler::MAX_NODES;

/// Reads a text as records. `None` if it does not begin with the line of a record, or has other lines.
pub(super) fn read(text: &str) -> Option<ParsedDocument<'_>> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let separator = record_separator(first)?;
    let mut tree = NodeBuilder::default();
    let root = tree.push(NodeKind::Array, 0..text.len(), 0, 0);
    let (mut record, mut members, mut records, mut other) = (root, 0, 0, 0);
    let (mut names, mut is_cut) = (HashSet::new(), false);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_ascii_end();
        if record_separator(line).is_some() {
            if records > 0 {
                tree.close(record, members);
            }
            if tree.nodes.len() >= MAX_NODES {
                is_cut = true;
                break;
            }
            record = tree.push(NodeKind::Object, start..at, root, records);
            (records, members) = (records + 1, 0);
            continue;
        }
        let value = line.split_once(separator).filter(|(key, _)| !key.trim().is_empty());
        // A line of a value with several lines can look like another value.
        let value =
            value.filter(|(key, _)| records == 1 && names.insert(key.trim()) || names.contains(key.trim()));
        let Some((key, value)) = value else {
            if !line.is_empty() {
                other += 1;
                if let Some(value) = tree.nodes.last_mut().filter(|_| members > 0) {
                    value.end = (start + line.len()) as u32;
                }
            }
            continue;
        };
        let within = |part: &str| {
            let start = part.as_ptr() as usize - text.as_ptr() as usize;
            start..start + part.len()
        };
        tree.push(NodeKind::String, within(key.trim()), record, members);
        tree.push(value_kind(value.trim()), within(value.trim()), record, members);
        members += 1;
    }
    if records > 0 && !is_cut {
        tree.close(record, members);
    }
    tree.close(root, records);
    let first = if is_cut { "The first " } else { "" };
    let note = format!("{first}{records} records with a line for each value, starting with `$[0]`");
    // A value can have several lines.
    (records >= MIN_RECORDS && other <= records).then(|| ParsedDocument {
        sampled: is_cut,
        ..ParsedDocument::from_nodes(text, tree.nodes, Some(note), None)
    })
}

/// Returns what separates keys from values, if the line begins a record: `*** 1. row ***` or `-[ RECORD 1 ]---`.
fn record_separator(line: &str) -> Option<&'static str> {
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let stars = line.strip_prefix("***").map(|rest| rest.trim_matches('*').trim());
    if stars.and_then(|row| row.strip_suffix(". row")).is_some_and(is_number) {
        return Some(":");
    }
    let (number, _) = line.strip_prefix("-[ RECORD ")?.split_once(' ')?;
    is_number(number).then_some("|")
}

//! Selects rows to show whole: rows that match the query, and samples of the largest tables.

use std::{borrow::Cow, cmp::Reverse, collections::HashSet};

use gatehouse_core::search::for_each_term;

use super::{
    anomalies::Anomaly,
    document::{NodeIndex, NodeKind, ParsedDocument},
    fit::DigestSection,
    json::DocumentAnalysis,
    profile::DocumentPlace,
    value::{bare, show},
};
use crate::{bm25, tokens};

/// Maximum bytes of a row. A larger value is opened instead.
const MAX_ROW_BYTES: usize = 4000;

const MAX_MATCHES: usize = 6;
const MIN_SCORE_RATIO: f64 = 0.4;

const MAX_TABLES: usize = 2;
const MAX_COLUMNS: usize = 14;

const MAX_ANOMALOUS_ROWS: usize = 6;

const MAX_CELL_CHARS: usize = 48;

/// Lengths to which the strings of a row are cut until it fits.
const READABLE_CUTS: &[usize] = &[400, 160, 80];
const SHORTEST_CUTS: &[usize] = &[40, 16];

const MAX_NARROWING_STEPS: usize = 8;

/// Returns a line for each of the best rows for the query, at most `tokens` in total.
pub(super) fn matching(look: &DocumentAnalysis<'_, '_>, query: &str, tokens: usize) -> Vec<String> {
    let document = look.document;
    let mut best: Vec<NodeIndex> = named(look, query);
    for id in best_of(document, candidates(document), query, MAX_MATCHES) {
        let inside = |row: &NodeIndex| *row <= id && id < document.after(*row);
        if !best.iter().any(inside) {
            best.push(id);
        }
    }
    best.truncate(MAX_MATCHES);
    let mut remaining = tokens;
    let mut lines = Vec::new();
    for (at, id) in best.iter().enumerate() {
        // The first row takes what it needs but leaves room for a second one.
        let share = if at + 1 < best.len() { remaining * 6 / 10 } else { remaining };
        let id = narrow(document, *id, query, share);
        let Some(line) = line(document, id, share) else { continue };
        remaining = remaining.saturating_sub(tokens::count(&line) + 1);
        lines.push(line);
    }
    lines
}

/// Returns the rows whose names are in the query, the longest names first.
fn named(look: &DocumentAnalysis<'_, '_>, query: &str) -> Vec<NodeIndex> {
    let mut query_terms = HashSet::new();
    for_each_term(query, |term| {
        query_terms.insert(term.to_owned());
    });
    let columns = (0..look.places.len()).filter_map(|table| Some((table, look.names.column(table)?)));
    let mut matches: Vec<(usize, NodeIndex)> = Vec::new();
    for (table, column) in columns {
        for value in &look.places[column].values {
            let (mut matches_all, mut terms) = (true, 0);
            for_each_term(look.document.raw(*value), |term| {
                matches_all &= query_terms.contains(term);
                terms += term.len();
            });
            let row = if matches_all && terms > 2 { look.names.row(table, *value) } else { None };
            matches.extend(row.map(|row| (terms, row)));
        }
    }
    matches.sort_by_key(|(terms, _)| Reverse(*terms));
    matches.into_iter().take(MAX_MATCHES).map(|(_, row)| row).collect()
}

fn best_of(document: &ParsedDocument<'_>, rows: Vec<NodeIndex>, query: &str, most: usize) -> Vec<NodeIndex> {
    let texts: Vec<Cow<'_, str>> = rows.iter().map(|id| plain(document, *id)).collect();
    let scores = bm25::scores(&texts, query);
    let top = scores.iter().copied().fold(0.0, f64::max);
    let mut best: Vec<usize> = (0..rows.len()).filter(|i| scores[*i] > top * MIN_SCORE_RATIO).collect();
    best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    best.into_iter().take(most).map(|i| rows[i]).collect()
}

/// Returns the part of a row that matches best, if the whole row does not fit.
fn narrow(document: &ParsedDocument<'_>, mut id: NodeIndex, query: &str, tokens: usize) -> NodeIndex {
    for _ in 0..MAX_NARROWING_STEPS {
        if cut(document, id, tokens, READABLE_CUTS).is_some() {
            break;
        }
        match best_of(document, document.children(id).collect(), query, 1).first() {
            Some(child) => id = *child,
            None => break,
        }
    }
    id
}

/// Returns sample rows of the largest tables for the remaining `tokens`: rows with anomalies first, then an even
/// sample.
pub(super) fn fill(look: &DocumentAnalysis<'_, '_>, odd: &[Anomaly], tokens: usize) -> Vec<DigestSection> {
    look.largest.iter().filter_map(|table| cells(look, *table, odd, tokens)).collect()
}

fn cells(
    look: &DocumentAnalysis<'_, '_>,
    table: usize,
    odd: &[Anomaly],
    tokens: usize,
) -> Option<DigestSection> {
    let place = &look.places[table];
    let rows = &place.values;
    let scalar = |at: &usize| {
        let (column, stats) = (&look.places[*at], &look.stats[*at]);
        let tells = stats.scalars.len() > 1 || column.values.len() < rows.len();
        (*at == table || (column.table == table && !column.is_row)) && tells && !stats.scalars.is_empty()
    };
    let mut columns: Vec<usize> = (table..look.places.len()).filter(scalar).take(MAX_COLUMNS).collect();
    columns.sort_by_key(|at| look.names.column(table) != Some(*at));
    columns.first()?;
    let cost = tokens::count(&row(look, table, *rows.get(rows.len() / 2)?, &columns)) + 1;
    let fitting = (tokens / cost.max(1)).max(2);
    let mut chosen: Vec<NodeIndex> = Vec::new();
    if fitting < rows.len() {
        let odd = odd.iter().filter_map(|odd| odd.at);
        let largest = columns.iter().filter_map(|at| look.stats[*at].largest_number());
        let special = odd.chain(largest).filter_map(|id| look.names.row(table, id));
        special.for_each(|id| {
            if !chosen.contains(&id) && chosen.len() < MAX_ANOMALOUS_ROWS {
                chosen.push(id)
            }
        });
    }
    let some = fitting.div_ceil(2).min(rows.len());
    let spread: Vec<NodeIndex> = match fitting < rows.len() {
        true => (0..some).map(|n| rows[n * rows.len() / some]).filter(|id| !chosen.contains(id)).collect(),
        false => rows.clone(),
    };
    chosen.extend(spread);
    let names: Vec<&str> = columns
        .iter()
        .map(|at| match *at == table {
            true => "the row",
            false => look.places[*at].name[place.name.len()..].trim_start_matches('.'),
        })
        .collect();
    let title = format!("Rows of {} as {}:", place.name, names.join(" | "));
    let lines = chosen.into_iter().map(|id| row(look, table, id, &columns)).collect();
    Some(DigestSection::with_title(title, 15, lines))
}

fn row(look: &DocumentAnalysis<'_, '_>, table: usize, id: NodeIndex, columns: &[usize]) -> String {
    let document = look.document;
    let path = document.path(id);
    let common = look.places[table].name.split(['[', '*']).next().unwrap_or_default().trim_end_matches('.');
    let path = path.strip_prefix(common).unwrap_or(&path);
    let cell = |at: &usize| {
        let values = &look.places[*at].values;
        let value = values.get(values.partition_point(|value| *value < id)).copied();
        let value = value.filter(|value| *value < document.after(id));
        value.map_or(String::new(), |value| bare(document, value, MAX_CELL_CHARS))
    };
    let cells: Vec<String> = columns.iter().map(cell).collect();
    format!("{path} {}", cells.join(" | ").trim_end_matches([' ', '|']))
}

/// Returns the places of the largest tables that do not contain each other, largest first.
pub(super) fn largest(document: &ParsedDocument<'_>, places: &[DocumentPlace]) -> Vec<usize> {
    let mut tables: Vec<(usize, usize)> = places
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, place)| place.is_row && place.values.len() > 1)
        .map(|(index, place)| (place.bytes(document), index))
        .collect();
    tables.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let inside = |mut at: usize, outer: usize| {
        while at > outer {
            at = places[at].parent;
        }
        at == outer
    };
    let mut chosen: Vec<usize> = Vec::new();
    for (_, index) in tables {
        if chosen.len() < MAX_TABLES && !chosen.iter().any(|c| inside(index, *c) || inside(*c, index)) {
            chosen.push(index);
        }
    }
    chosen
}

/// Formats a row with its strings cut to the first length of `cuts` that fits.
fn cut(document: &ParsedDocument<'_>, id: NodeIndex, most: usize, cuts: &[usize]) -> Option<String> {
    let path = document.path(id);
    let line = |cut: &usize| format!("{path}: {}", show(document, id, *cut));
    cuts.iter().map(line).find(|line| tokens::count_up_to(line, most).is_some())
}

/// Formats a row, with its strings and finally its end cut to fit `most` tokens.
fn line(document: &ParsedDocument<'_>, id: NodeIndex, most: usize) -> Option<String> {
    let cut = |cuts| cut(document, id, most, cuts);
    if let Some(line) = cut(READABLE_CUTS).or_else(|| cut(SHORTEST_CUTS)) {
        return Some(line);
    }
    let path = document.path(id);
    let line = format!("{path}: {}", show(document, id, SHORTEST_CUTS[SHORTEST_CUTS.len() - 1]));
    // Characters per token: names and digits cost more than prose.
    (2..=4)
        .rev()
        .map(|per_token| cut_to(&line, most * per_token))
        .find(|line| line.len() > path.len() + 8 && tokens::count_up_to(line, most).is_some())
}

fn cut_to(line: &str, characters: usize) -> String {
    line.char_indices().nth(characters).map_or(line.to_owned(), |(end, _)| format!("{}…", &line[..end]))
}

/// Returns the outermost values that are small enough to be shown.
fn candidates(document: &ParsedDocument<'_>) -> Vec<NodeIndex> {
    let mut rows = Vec::new();
    let mut open = vec![ParsedDocument::ROOT];
    while let Some(id) = open.pop() {
        let container = matches!(document.kind(id), NodeKind::Array | NodeKind::Object);
        if container && (id == ParsedDocument::ROOT || document.size(id) > MAX_ROW_BYTES) {
            open.extend(document.children(id));
        } else {
            rows.push(id);
        }
    }
    rows.sort_unstable();
    rows
}

/// Returns a row with its key for search. Replaces escapes, or `\n` would become part of the next word.
fn plain<'a>(document: &ParsedDocument<'a>, id: NodeIndex) -> Cow<'a, str> {
    let source = document.keyed_source(id);
    if source.contains('\\') {
        Cow::Owned(source.replace("\\n", " ").replace("\\t", " ").replace("\\r", " "))
    } else {
        Cow::Borrowed(source)
    }
}

//! Describes tables: their rows and their columns ([`super::columns`]), as wide as the budget allows.

use std::cmp::Reverse;

use super::{
    columns::ColumnDigest, document::ParsedDocument, fit::DigestSection, json::DocumentAnalysis,
    profile::DocumentPlace,
};

/// Maximum tables whose columns are shown. Others get one line with their size.
const MAX_TABLES: usize = 8;

/// Line widths to try, in characters, until all lines fit their share.
const WIDTHS: [usize; 6] = [600, 300, 200, 140, 90, 60];

const CHARS_PER_TOKEN: usize = 3;

/// Returns a section for each of the largest tables, and one for the others. Together they take about `tokens`.
pub(super) fn tables(look: &DocumentAnalysis<'_, '_>, tokens: usize) -> Vec<DigestSection> {
    let homes = title_tables(look);
    let tables = order(look, &homes);
    let large = |table: &&usize| {
        look.places[**table].bytes(look.document) * 100
            >= look.document.size(ParsedDocument::ROOT) * MIN_TABLE_PERCENT
    };
    let (told, others) = tables.split_at(tables.iter().take_while(large).count().min(MAX_TABLES));
    let lines = |width: usize| -> Vec<Vec<String>> {
        told.iter().map(|table| lines(look, &homes, *table, width)).collect()
    };
    let fits = |lines: &Vec<Vec<String>>| {
        lines.iter().flatten().map(|line| line.len() + 4).sum::<usize>() <= tokens * CHARS_PER_TOKEN
    };
    let mut chosen = Vec::new();
    for width in WIDTHS {
        chosen = lines(width);
        if fits(&chosen) {
            break;
        }
    }
    let share = |at: usize| if at == 0 { 40 } else { 12 };
    let titled = told.iter().zip(chosen).enumerate();
    let mut sections: Vec<DigestSection> = titled
        .map(|(at, (table, lines))| DigestSection::with_title(title(look, *table), share(at), lines))
        .collect();
    let others: Vec<String> = others.iter().map(|table| size(look, *table)).collect();
    sections.push(DigestSection::with_title("Other tables:", 8, others));
    sections
}

/// Minimum share of the document for a table whose columns are shown.
const MIN_TABLE_PERCENT: usize = 3;

fn order(look: &DocumentAnalysis<'_, '_>, homes: &[usize]) -> Vec<usize> {
    let mut tables: Vec<usize> =
        (1..look.places.len()).filter(|at| look.places[*at].is_row && homes[*at] == *at).collect();
    tables.sort_by_cached_key(|table| Reverse(look.places[*table].bytes(look.document)));
    tables
}

/// Returns the table under which each place is shown. A list of scalars in the rows of a table is shown as a column of
/// that table.
fn title_tables(look: &DocumentAnalysis<'_, '_>) -> Vec<usize> {
    let mut has_columns = vec![false; look.places.len()];
    look.places.iter().filter(|place| !place.is_row).for_each(|place| has_columns[place.table] = true);
    let home = |(at, place): (usize, &DocumentPlace)| {
        let above = look.places[place.parent].table;
        let listed = at > 0 && place.is_row && !has_columns[at] && look.places[above].rows > 1;
        if listed { above } else { place.table }
    };
    look.places.iter().enumerate().map(home).collect()
}

fn size(look: &DocumentAnalysis<'_, '_>, table: usize) -> String {
    let place = &look.places[table];
    let lists = look.places[place.parent].values.len();
    let inside = if lists > 1 { format!(" in {lists} lists") } else { String::new() };
    let rows = place.row_counts(look.document, &look.places[place.parent]);
    format!("{}: {rows}{inside}", place.name)
}

fn title(look: &DocumentAnalysis<'_, '_>, table: usize) -> String {
    let named = look
        .names
        .column(table)
        .map(|column| format!(", named by {}", relative_name(&look.places[column], &look.places[table])));
    format!("{}{}. Columns:", size(look, table), named.unwrap_or_default())
}

pub(super) fn relative_name<'p>(place: &'p DocumentPlace, table: &DocumentPlace) -> &'p str {
    let name = place.name.strip_prefix(table.name.as_str()).unwrap_or(&place.name);
    name.strip_prefix('.').unwrap_or(name)
}

/// Returns the lines of the columns: row names, then categories and measures, then the rest.
fn lines(look: &DocumentAnalysis<'_, '_>, homes: &[usize], table: usize, width: usize) -> Vec<String> {
    let depth =
        |at: &usize| relative_name(&look.places[*at], &look.places[table]).matches(['.', '[']).count();
    let mut columns: Vec<usize> = (table..look.places.len()).filter(|at| homes[*at] == table).collect();
    let class = |at: &usize| match ColumnDigest::new(look, *at, table) {
        _ if look.names.column(table) == Some(*at) => 0,
        column if column.is_categorical() || column.is_measured() || column.varies() => 1,
        _ => 2,
    };
    columns.sort_by_key(|at| (class(at), depth(at), Reverse(look.places[*at].values.len())));
    columns.into_iter().filter_map(|at| ColumnDigest::new(look, at, table).line(width)).collect()
}

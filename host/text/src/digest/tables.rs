//! Describes tables: their rows and their columns, as wide as the budget allows.
//!
//! A column is one line: the kinds of its values, the ends of their range with their rows, and the distinct values with
//! their counts.

use std::cmp::Reverse;

use super::{
    document::{NodeIndex, NodeKind, ParsedDocument},
    fit::DigestSection,
    json::DocumentAnalysis,
    lines::join,
    profile::DocumentPlace,
    stats::{MeasureScale, PlaceStats, ValueSpread},
    value::{bare, number, show},
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
    let (main_tables, other_tables) =
        tables.split_at(tables.iter().take_while(large).count().min(MAX_TABLES));
    let lines = |width: usize| -> Vec<Vec<String>> {
        main_tables.iter().map(|table| lines(look, &homes, *table, width)).collect()
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
    let titled = main_tables.iter().zip(chosen).enumerate();
    let mut sections: Vec<DigestSection> = titled
        .map(|(at, (table, lines))| DigestSection::with_title(title(look, *table), share(at), lines))
        .collect();
    let other_sizes: Vec<String> = other_tables.iter().map(|table| size(look, *table)).collect();
    sections.push(DigestSection::with_title("Other tables:", 8, other_sizes));
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

fn relative_name<'p>(place: &'p DocumentPlace, table: &DocumentPlace) -> &'p str {
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

const MAX_VALUE_CHARS: usize = 40;

const MAX_LISTED_VALUES: usize = 64;

const CATEGORY_WIDTH_FACTOR: usize = 4;

pub(super) fn range(look: &DocumentAnalysis<'_, '_>, at: usize) -> Option<String> {
    ColumnDigest::new(look, at, look.places[at].table).range(0)
}

struct ColumnDigest<'l, 'a> {
    look: &'l DocumentAnalysis<'l, 'a>,
    at: usize,
    place: &'l DocumentPlace,
    stats: &'l PlaceStats,
    table: usize,
}

impl<'l, 'a> ColumnDigest<'l, 'a> {
    fn new(look: &'l DocumentAnalysis<'l, 'a>, at: usize, table: usize) -> Self {
        Self { look, at, place: &look.places[at], stats: &look.stats[at], table }
    }

    /// Returns whether there are few distinct values, so that rows can be counted by them.
    fn is_categorical(&self) -> bool {
        let different = self.stats.scalars.len();

        (2..=MAX_LISTED_VALUES).contains(&different) && different * 3 <= self.stats.total
    }

    fn is_measured(&self) -> bool {
        self.stats.spread.as_ref().is_some_and(|spread| spread.scale != MeasureScale::Length)
    }

    fn varies(&self) -> bool {
        let (all, objects) = (self.place.values.len(), self.stats.kind(NodeKind::Object));
        let below = |p: &DocumentPlace| p.parent == self.at && !p.is_row && p.values.len() < objects;
        objects == all && self.at != self.table && self.look.places.iter().skip(self.at + 1).any(below)
    }

    fn line(&self, width: usize) -> Option<String> {
        let Self { place, stats, .. } = self;
        let kinds = stats.kinds();
        let &(main, _) = kinds.iter().find(|(k, _)| *k != NodeKind::Null).or(kinds.first())?;
        let present = place.is_row || place.values.len() == place.rows;
        let is_table = self.at == self.table;
        if main == NodeKind::Object && kinds.len() == 1 && (is_table || present) && !self.varies() {
            return None;
        }
        let mut parts: Vec<String> = Vec::new();
        if place.is_row && !is_table {
            parts.push(format!("{} elements", place.rows));
        } else if !present {
            parts.push(format!("in {} of {}", place.values.len(), place.rows));
        }
        match &kinds[..] {
            // The listed values show these kinds.
            [(NodeKind::String | NodeKind::Number | NodeKind::Bool, _)] => {}
            [(kind, _)] => parts.push(kind.name().into()),
            mixed => parts.extend(mixed.iter().map(|(k, n)| format!("{} ×{n}", k.name()))),
        }
        parts.extend(self.range(width));
        let wide = self.is_categorical() || main == NodeKind::Object;
        let width = width * if wide { CATEGORY_WIDTH_FACTOR } else { 1 };
        let room = width.saturating_sub(parts.iter().map(|part| part.len() + 2).sum());
        parts.extend(self.values(room));
        if main == NodeKind::Object {
            parts.extend(self.keys(room));
        }
        let name = relative_name(place, &self.look.places[self.table]);
        let name = if is_table { "the row" } else { name };
        Some(format!("{name}: {}", parts.join(", ")))
    }

    fn shown(&self, spread: &ValueSpread, (value, id): (f64, NodeIndex)) -> String {
        match spread.scale {
            MeasureScale::Elements | MeasureScale::Length => number(value),
            _ => show(self.look.document, id, MAX_VALUE_CHARS),
        }
    }

    fn end(&self, spread: &ValueSpread, (value, id): (f64, NodeIndex)) -> String {
        let text = self.shown(spread, (value, id));
        let name = self.look.names.name(self.place.table, id);
        name.map_or(text.clone(), |name| format!("{text} ({name})"))
    }

    fn range(&self, width: usize) -> Option<String> {
        let spread = self.stats.spread.as_ref()?;
        let (min, max) = (spread.min(), spread.max());
        let listed = self.is_categorical() && self.stats.scalars.len() <= MAX_LISTED_VALUES / 8;
        if listed && spread.scale == MeasureScale::NumberInText {
            return None;
        }
        let unit = match spread.scale {
            MeasureScale::Elements => " elements",
            MeasureScale::Length => " bytes",
            _ => "",
        };
        if spread.scale == MeasureScale::Length
            && (self.stats.scalars.len() <= MAX_LISTED_VALUES || width < 100)
        {
            return None;
        }
        if min.0 == max.0 {
            return (spread.scale == MeasureScale::Elements)
                .then(|| format!("always {}{unit}", number(min.0)));
        }
        let median = self.shown(spread, spread.median());
        let ends = format!("{} to {}{unit}, median {median}", self.end(spread, min), self.end(spread, max));
        let sum = self.stats.sum.as_ref().map(|sum| format!(", sum {sum}"));
        let next = self.next_largest(spread, width);
        Some(ends + &sum.unwrap_or_default() + &next)
    }

    /// Returns the next two values below the maximum, unless all values are listed anyway.
    fn next_largest(&self, spread: &ValueSpread, width: usize) -> String {
        let listed = self.stats.scalars.len() <= MAX_LISTED_VALUES / 4;
        if width < 240 || listed || matches!(spread.scale, MeasureScale::Length | MeasureScale::Date) {
            return String::new();
        }
        let next = spread.values.iter().rev().skip(1).take(2).map(|value| self.end(spread, *value));
        format!(", next largest {}", join(next, ", "))
    }

    /// Lists the distinct values with their counts, as many as fit into `room` characters.
    fn values(&self, room: usize) -> Option<String> {
        let scalars = &self.stats.scalars;
        let (most, first) = *scalars.first()?;
        let document = self.look.document;
        let scale = self.stats.spread.as_ref().map(|spread| spread.scale);
        let numbers = scale.is_some_and(|s| !matches!(s, MeasureScale::Length | MeasureScale::Elements));
        match scalars.len() {
            1 if document.kind(first) == NodeKind::Null => return None,
            1 => return Some(format!("always {}", show(document, first, MAX_VALUE_CHARS))),
            _ => {}
        }
        let counted = most > 1;
        if numbers && !self.is_categorical() {
            return Some(format!("{} different", scalars.len()));
        }
        let mut values: Vec<String> = Vec::new();
        let mut length = 0;
        for (times, id) in scalars.iter().take(MAX_LISTED_VALUES) {
            let value = bare(document, *id, MAX_VALUE_CHARS);
            let value = if counted { format!("{value} ×{times}") } else { value };
            length += value.len() + 2;
            // Texts that occur once are not informative if hardly any text repeats.
            let alone = counted && *times == 1 && (numbers || !self.is_categorical());
            if !values.is_empty() && (length > room || alone) {
                break;
            }
            values.push(value);
        }
        let different = scalars.len();
        let once = scalars.iter().skip(values.len()).filter(|(times, _)| *times == 1).count();
        let rest = different - values.len();
        if rest > 0 && !counted {
            values.truncate(3);
            return Some(format!("all {different} different, e.g. {}", values.join(", ")));
        }
        if rest > 0 {
            values.push(format!("{rest} others{}", if once == rest { " once each" } else { "" }));
        }
        Some(format!("{different} different: {}", values.join(", ")))
    }

    fn keys(&self, room: usize) -> Option<String> {
        let below = |p: &&DocumentPlace| p.parent == self.at && !p.is_row;
        let mut length = 0;
        let places = self.look.places.iter().skip(self.at + 1).filter(below);
        let keys: Vec<String> = places
            .map(|p| format!("{} ×{}", relative_name(p, self.place), p.values.len()))
            .take_while(|key| {
                length += key.len() + 2;
                length <= room
            })
            .collect();
        (keys.len() > 1).then(|| format!("keys {}", keys.join(", ")))
    }
}

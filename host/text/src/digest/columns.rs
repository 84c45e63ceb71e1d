//! Tables and their columns, each column told in a line: how many values, of which kinds, the ends of their range with
//! the rows that have them, and the different values with their counts, as many as there is room for.

use super::{
    document::{Id, Kind, Parsed},
    fit::Section,
    json::Look,
    profile::Place,
    rows,
    stats::{Scale, Spread, Stats},
    value::{bare, number, show},
};

/// Tables whose columns are told; of the others a line says how large they are.
const TABLES: usize = 8;

/// Characters of a value that is shown.
const SHOWN: usize = 40;

/// Characters of a column's line: the widest of these with which all lines take no more than their share. One that has
/// few different values, which is what rows are counted by, may take some times as many.
const WIDTHS: [usize; 6] = [600, 300, 200, 140, 90, 60];
const COUNTED: usize = 4;

/// Characters of such lines that make a token, on average.
const PER_TOKEN: usize = 3;

/// More different values than this are not listed, however wide the line.
const LISTED: usize = 64;

/// A section for each of the largest tables, with the lines of its columns, and one for the other tables. They are made
/// to take some `tokens` of the budget together.
pub(super) fn tables(look: &Look<'_, '_>, tokens: usize) -> Vec<Section> {
    let homes = homes(look);
    let tables = order(look, &homes);
    let large = |table: &&usize| rows::bytes(look, **table) * 100 >= look.document.size(Parsed::ROOT) * SMALL;
    let (told, others) = tables.split_at(tables.iter().take_while(large).count().min(TABLES));
    let lines = |width: usize| -> Vec<Vec<String>> {
        told.iter().map(|table| lines(look, &homes, *table, width)).collect()
    };
    let fits = |lines: &Vec<Vec<String>>| {
        lines.iter().flatten().map(|line| line.len() + 4).sum::<usize>() <= tokens * PER_TOKEN
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
    let mut sections: Vec<Section> =
        titled.map(|(at, (table, lines))| Section::titled(title(look, *table), share(at), lines)).collect();
    let others: Vec<String> = others.iter().map(|table| size(look, *table)).collect();
    sections.push(Section::titled("Other tables:", 8, others));
    sections
}

/// Hundredths of the document that the rows of a table must take for its columns to be told.
const SMALL: usize = 3;

/// The tables that have columns, those whose rows take most of the document first.
fn order(look: &Look<'_, '_>, homes: &[usize]) -> Vec<usize> {
    let mut tables: Vec<usize> =
        (1..look.places.len()).filter(|at| look.places[*at].is_row && homes[*at] == *at).collect();
    tables.sort_by_cached_key(|table| std::cmp::Reverse(rows::bytes(look, *table)));
    tables
}

/// For each place the table under whose title it is told: its own, but a list of scalars in the rows of a table is
/// told among the columns of that.
fn homes(look: &Look<'_, '_>) -> Vec<usize> {
    let mut has_columns = vec![false; look.places.len()];
    look.places.iter().filter(|place| !place.is_row).for_each(|place| has_columns[place.table] = true);
    let home = |(at, place): (usize, &Place)| {
        let above = look.places[place.parent].table;
        let listed = at > 0 && place.is_row && !has_columns[at] && look.places[above].rows > 1;
        if listed { above } else { place.table }
    };
    look.places.iter().enumerate().map(home).collect()
}

fn size(look: &Look<'_, '_>, table: usize) -> String {
    let place = &look.places[table];
    let lists = look.places[place.parent].values.len();
    let inside = if lists > 1 { format!(" in {lists} lists") } else { String::new() };
    format!("{}: {} rows{inside}", place.name, place.rows)
}

fn title(look: &Look<'_, '_>, table: usize) -> String {
    let named = look
        .names
        .column(table)
        .map(|column| format!(", named by {}", within(&look.places[column], &look.places[table])));
    format!("{}{}. Columns:", size(look, table), named.unwrap_or_default())
}

/// The name of a column within its rows.
fn within<'p>(place: &'p Place, table: &Place) -> &'p str {
    let name = place.name.strip_prefix(table.name.as_str()).unwrap_or(&place.name);
    name.strip_prefix('.').unwrap_or(name)
}

/// The lines of a table's columns: what names the rows, then what they are counted and measured by, then the others.
fn lines(look: &Look<'_, '_>, homes: &[usize], table: usize, width: usize) -> Vec<String> {
    let depth = |at: &usize| within(&look.places[*at], &look.places[table]).matches(['.', '[']).count();
    let mut columns: Vec<usize> = (table..look.places.len()).filter(|at| homes[*at] == table).collect();
    let class = |at: &usize| match Column::of(look, *at, table) {
        _ if look.names.column(table) == Some(*at) => 0,
        column if column.counted() || column.measured() => 1,
        _ => 2,
    };
    columns.sort_by_key(|at| (class(at), depth(at)));
    columns.into_iter().filter_map(|at| Column::of(look, at, table).line(width)).collect()
}

/// The range of a place, without the rows below its ends.
pub(super) fn range(look: &Look<'_, '_>, at: usize) -> Option<String> {
    Column::of(look, at, look.places[at].table).range(0)
}

/// One column on its way into a line.
struct Column<'l, 'a> {
    look: &'l Look<'l, 'a>,
    at: usize,
    place: &'l Place,
    stats: &'l Stats,
    table: usize,
}

impl<'l, 'a> Column<'l, 'a> {
    fn of(look: &'l Look<'l, 'a>, at: usize, table: usize) -> Self {
        Self { look, at, place: &look.places[at], stats: &look.stats[at], table }
    }

    /// Whether its values are few, so that rows can be counted by them.
    fn counted(&self) -> bool {
        let different = self.stats.scalars.len();
        let all: usize = self.stats.scalars.iter().map(|(times, _)| times).sum();
        (2..=LISTED).contains(&different) && different * 3 <= all
    }

    /// Whether its values are numbers, dates or lists.
    fn measured(&self) -> bool {
        self.stats.spread.as_ref().is_some_and(|spread| spread.scale != Scale::Length)
    }

    fn line(&self, width: usize) -> Option<String> {
        let Self { place, stats, .. } = self;
        let kinds = stats.kinds();
        let &(main, _) = kinds.iter().find(|(k, _)| *k != Kind::Null).or(kinds.first())?;
        let present = place.is_row || place.values.len() == place.rows;
        if main == Kind::Object && kinds.len() == 1 && (self.at == self.table || present) {
            return None;
        }
        let mut said: Vec<String> = Vec::new();
        if place.is_row && self.at != self.table {
            said.push(format!("{} elements", place.rows));
        } else if !present {
            said.push(format!("in {} of {}", place.values.len(), place.rows));
        }
        match &kinds[..] {
            // Values that are shown say it themselves.
            [(Kind::String | Kind::Number | Kind::Bool, _)] => {}
            [(kind, _)] => said.push(kind.name().into()),
            several => said.extend(several.iter().map(|(k, n)| format!("{} ×{n}", k.name()))),
        }
        said.extend(self.range(width));
        let width = if self.counted() || main == Kind::Object { width * COUNTED } else { width };
        let room = width.saturating_sub(said.iter().map(|part| part.len() + 2).sum());
        said.extend(self.values(room));
        if main == Kind::Object {
            said.extend(self.keys(room));
        }
        let name =
            if self.at == self.table { "the row" } else { within(place, &self.look.places[self.table]) };
        Some(format!("{name}: {}", said.join(", ")))
    }

    /// A value of the range, with the row that has it.
    fn end(&self, spread: &Spread, (value, id): (f64, Id)) -> String {
        let shown = match spread.scale {
            Scale::Elements | Scale::Length => number(value),
            _ => show(self.look.document, id, SHOWN),
        };
        let name = self.look.names.name(self.place.table, id);
        name.map_or(shown.clone(), |name| format!("{shown} ({name})"))
    }

    fn range(&self, width: usize) -> Option<String> {
        let spread = self.stats.spread.as_ref()?;
        let (min, max) = (spread.min(), spread.max());
        let constant = min.0 == max.0;
        // Where all values are listed, their range stands there.
        let listed = self.counted() && self.stats.scalars.len() <= LISTED / 8;
        if listed && spread.scale == Scale::NumberInText {
            return None;
        }
        let unit = match spread.scale {
            Scale::Elements => " elements",
            Scale::Length => " bytes",
            _ => "",
        };
        if spread.scale == Scale::Length && (self.stats.scalars.len() <= LISTED || width < 100) {
            return None;
        }
        if constant {
            return (spread.scale == Scale::Elements).then(|| format!("always {}{unit}", number(min.0)));
        }
        let median = match spread.scale {
            Scale::Elements | Scale::Length => number(spread.median().0),
            _ => show(self.look.document, spread.median().1, SHOWN),
        };
        let ends = format!("{} to {}{unit}, median {median}", self.end(spread, min), self.end(spread, max));
        let sum = self.stats.sum(self.look.document).map(|sum| format!(", sum {sum}"));
        let next = self.next_largest(spread, width);
        Some(ends + &sum.unwrap_or_default() + &next)
    }

    /// The largest values below the largest one, where they are few.
    fn next_largest(&self, spread: &Spread, width: usize) -> String {
        let listed = self.stats.scalars.len() <= LISTED / 4;
        if width < 240 || listed || matches!(spread.scale, Scale::Length | Scale::Date) {
            return String::new();
        }
        let next: Vec<String> =
            spread.values.iter().rev().skip(1).take(2).map(|v| self.end(spread, *v)).collect();
        format!(", before it {}", next.join(", "))
    }

    /// The different values and how often each occurs, as many as fit into `room` characters.
    fn values(&self, room: usize) -> Option<String> {
        let scalars = &self.stats.scalars;
        let (most, first) = *scalars.first()?;
        let document = self.look.document;
        let numbers =
            self.stats.spread.as_ref().is_some_and(|s| !matches!(s.scale, Scale::Length | Scale::Elements));
        match scalars.len() {
            1 if document.kind(first) == Kind::Null => return None,
            1 => return Some(format!("always {}", show(document, first, SHOWN))),
            _ => {}
        }
        let counted = most > 1;
        if numbers && !self.counted() {
            return Some(format!("{} different", scalars.len()));
        }
        let mut shown: Vec<String> = Vec::new();
        let mut length = 0;
        for (times, id) in scalars.iter().take(LISTED) {
            let value = bare(document, *id, SHOWN);
            let value = if counted { format!("{value} ×{times}") } else { value };
            length += value.len() + 2;
            // What occurs once tells nothing of a text that hardly ever occurs twice.
            let alone = counted && *times == 1 && !self.counted();
            if !shown.is_empty() && (length > room || alone) {
                break;
            }
            shown.push(value);
        }
        let different = scalars.len();
        let once = scalars.iter().skip(shown.len()).filter(|(times, _)| *times == 1).count();
        let rest = different - shown.len();
        Some(match (rest, counted) {
            (0, _) => format!("{different} different: {}", shown.join(", ")),
            (_, false) => format!(
                "all {different} different, e.g. {}",
                shown.iter().take(3).cloned().collect::<Vec<_>>().join(", ")
            ),
            _ if once == rest => {
                format!("{different} different: {}, {rest} others once each", shown.join(", "))
            }
            _ => format!("{different} different: {}, {rest} others", shown.join(", ")),
        })
    }

    /// The keys of objects that not all have the same ones.
    fn keys(&self, room: usize) -> Option<String> {
        let below = |p: &&Place| p.parent == self.at && !p.is_row;
        let mut length = 0;
        let keys: Vec<String> = self
            .look
            .places
            .iter()
            .skip(self.at + 1)
            .filter(below)
            .map(|p| format!("{} ×{}", p.key(), p.values.len()))
            .take_while(|key| {
                length += key.len() + 2;
                length <= room
            })
            .collect();
        (keys.len() > 1).then(|| format!("keys {}", keys.join(", ")))
    }
}

//! A column, told in a line: how many values, of which kinds, the ends of their range with the rows that have them, and the
//! different values with their counts, as many as there is room for.

use super::{
    document::{Id, Kind},
    json::Look,
    profile::Place,
    stats::{Scale, Spread, Stats},
    tables::within,
    value::{bare, number, show},
};

/// Characters of a value that is shown.
const SHOWN: usize = 40;

/// More different values than this are not listed, however wide the line.
const LISTED: usize = 64;

/// A column of few different values, which is what rows are counted by, may take some times as many characters.
const COUNTED: usize = 4;

/// The range of a place, without the rows below its ends.
pub(super) fn range(look: &Look<'_, '_>, at: usize) -> Option<String> {
    Column::of(look, at, look.places[at].table).range(0)
}

/// One column on its way into a line.
pub(super) struct Column<'l, 'a> {
    look: &'l Look<'l, 'a>,
    at: usize,
    place: &'l Place,
    stats: &'l Stats,
    table: usize,
}

impl<'l, 'a> Column<'l, 'a> {
    pub(super) fn of(look: &'l Look<'l, 'a>, at: usize, table: usize) -> Self {
        Self { look, at, place: &look.places[at], stats: &look.stats[at], table }
    }

    /// Whether its values are few, so that rows can be counted by them.
    pub(super) fn counted(&self) -> bool {
        let different = self.stats.scalars.len();

        (2..=LISTED).contains(&different) && different * 3 <= self.stats.total
    }

    /// Whether its values are numbers, dates or lists.
    pub(super) fn measured(&self) -> bool {
        self.stats.spread.as_ref().is_some_and(|spread| spread.scale != Scale::Length)
    }

    /// Whether its values are objects that not all have the same keys.
    pub(super) fn varies(&self) -> bool {
        let (all, objects) = (self.place.values.len(), self.stats.kind(Kind::Object));
        let below = |p: &Place| p.parent == self.at && !p.is_row && p.values.len() < objects;
        objects == all && self.at != self.table && self.look.places.iter().skip(self.at + 1).any(below)
    }

    pub(super) fn line(&self, width: usize) -> Option<String> {
        let Self { place, stats, .. } = self;
        let kinds = stats.kinds();
        let &(main, _) = kinds.iter().find(|(k, _)| *k != Kind::Null).or(kinds.first())?;
        let present = place.is_row || place.values.len() == place.rows;
        if main == Kind::Object && kinds.len() == 1 && (self.at == self.table || present) && !self.varies() {
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
        let sum = self.stats.sum.as_ref().map(|sum| format!(", sum {sum}"));
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
            let alone = counted && *times == 1 && (numbers || !self.counted());
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
            .map(|p| format!("{} ×{}", within(p, self.place), p.values.len()))
            .take_while(|key| {
                length += key.len() + 2;
                length <= room
            })
            .collect();
        (keys.len() > 1).then(|| format!("keys {}", keys.join(", ")))
    }
}

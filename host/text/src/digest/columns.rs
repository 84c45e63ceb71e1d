//! Describes a column in one line: the kinds of its values, the ends of their range with their rows, and the distinct
//! values with their counts.

use super::{
    document::{NodeIndex, NodeKind},
    json::DocumentAnalysis,
    profile::DocumentPlace,
    stats::{MeasureScale, PlaceStats, ValueSpread},
    tables::relative_name,
    value::{bare, number, show},
};

const MAX_VALUE_CHARS: usize = 40;

const MAX_LISTED_VALUES: usize = 64;

const CATEGORY_WIDTH_FACTOR: usize = 4;

pub(super) fn range(look: &DocumentAnalysis<'_, '_>, at: usize) -> Option<String> {
    ColumnDigest::new(look, at, look.places[at].table).range(0)
}

pub(super) struct ColumnDigest<'l, 'a> {
    look: &'l DocumentAnalysis<'l, 'a>,
    at: usize,
    place: &'l DocumentPlace,
    stats: &'l PlaceStats,
    table: usize,
}

impl<'l, 'a> ColumnDigest<'l, 'a> {
    pub(super) fn new(look: &'l DocumentAnalysis<'l, 'a>, at: usize, table: usize) -> Self {
        Self { look, at, place: &look.places[at], stats: &look.stats[at], table }
    }

    /// Returns whether there are few distinct values, so that rows can be counted by them.
    pub(super) fn is_categorical(&self) -> bool {
        let different = self.stats.scalars.len();

        (2..=MAX_LISTED_VALUES).contains(&different) && different * 3 <= self.stats.total
    }

    pub(super) fn is_measured(&self) -> bool {
        self.stats.spread.as_ref().is_some_and(|spread| spread.scale != MeasureScale::Length)
    }

    pub(super) fn varies(&self) -> bool {
        let (all, objects) = (self.place.values.len(), self.stats.kind(NodeKind::Object));
        let below = |p: &DocumentPlace| p.parent == self.at && !p.is_row && p.values.len() < objects;
        objects == all && self.at != self.table && self.look.places.iter().skip(self.at + 1).any(below)
    }

    pub(super) fn line(&self, width: usize) -> Option<String> {
        let Self { place, stats, .. } = self;
        let kinds = stats.kinds();
        let &(main, _) = kinds.iter().find(|(k, _)| *k != NodeKind::Null).or(kinds.first())?;
        let present = place.is_row || place.values.len() == place.rows;
        if main == NodeKind::Object
            && kinds.len() == 1
            && (self.at == self.table || present)
            && !self.varies()
        {
            return None;
        }
        let mut said: Vec<String> = Vec::new();
        if place.is_row && self.at != self.table {
            said.push(format!("{} elements", place.rows));
        } else if !present {
            said.push(format!("in {} of {}", place.values.len(), place.rows));
        }
        match &kinds[..] {
            // The listed values show these kinds.
            [(NodeKind::String | NodeKind::Number | NodeKind::Bool, _)] => {}
            [(kind, _)] => said.push(kind.name().into()),
            several => said.extend(several.iter().map(|(k, n)| format!("{} ×{n}", k.name()))),
        }
        said.extend(self.range(width));
        let width = if self.is_categorical() || main == NodeKind::Object {
            width * CATEGORY_WIDTH_FACTOR
        } else {
            width
        };
        let room = width.saturating_sub(said.iter().map(|part| part.len() + 2).sum());
        said.extend(self.values(room));
        if main == NodeKind::Object {
            said.extend(self.keys(room));
        }
        let name = if self.at == self.table {
            "the row"
        } else {
            relative_name(place, &self.look.places[self.table])
        };
        Some(format!("{name}: {}", said.join(", ")))
    }

    fn end(&self, spread: &ValueSpread, (value, id): (f64, NodeIndex)) -> String {
        let shown = match spread.scale {
            MeasureScale::Elements | MeasureScale::Length => number(value),
            _ => show(self.look.document, id, MAX_VALUE_CHARS),
        };
        let name = self.look.names.name(self.place.table, id);
        name.map_or(shown.clone(), |name| format!("{shown} ({name})"))
    }

    fn range(&self, width: usize) -> Option<String> {
        let spread = self.stats.spread.as_ref()?;
        let (min, max) = (spread.min(), spread.max());
        let constant = min.0 == max.0;
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
        if constant {
            return (spread.scale == MeasureScale::Elements)
                .then(|| format!("always {}{unit}", number(min.0)));
        }
        let median = match spread.scale {
            MeasureScale::Elements | MeasureScale::Length => number(spread.median().0),
            _ => show(self.look.document, spread.median().1, MAX_VALUE_CHARS),
        };
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
        let next: Vec<String> =
            spread.values.iter().rev().skip(1).take(2).map(|v| self.end(spread, *v)).collect();
        format!(", next largest {}", next.join(", "))
    }

    /// Lists the distinct values with their counts, as many as fit into `room` characters.
    fn values(&self, room: usize) -> Option<String> {
        let scalars = &self.stats.scalars;
        let (most, first) = *scalars.first()?;
        let document = self.look.document;
        let numbers = self
            .stats
            .spread
            .as_ref()
            .is_some_and(|s| !matches!(s.scale, MeasureScale::Length | MeasureScale::Elements));
        match scalars.len() {
            1 if document.kind(first) == NodeKind::Null => return None,
            1 => return Some(format!("always {}", show(document, first, MAX_VALUE_CHARS))),
            _ => {}
        }
        let counted = most > 1;
        if numbers && !self.is_categorical() {
            return Some(format!("{} different", scalars.len()));
        }
        let mut shown: Vec<String> = Vec::new();
        let mut length = 0;
        for (times, id) in scalars.iter().take(MAX_LISTED_VALUES) {
            let value = bare(document, *id, MAX_VALUE_CHARS);
            let value = if counted { format!("{value} ×{times}") } else { value };
            length += value.len() + 2;
            // Texts that occur once are not informative if hardly any text repeats.
            let alone = counted && *times == 1 && (numbers || !self.is_categorical());
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

    fn keys(&self, room: usize) -> Option<String> {
        let below = |p: &&DocumentPlace| p.parent == self.at && !p.is_row;
        let mut length = 0;
        let keys: Vec<String> = self
            .look
            .places
            .iter()
            .skip(self.at + 1)
            .filter(below)
            .map(|p| format!("{} ×{}", relative_name(p, self.place), p.values.len()))
            .take_while(|key| {
                length += key.len() + 2;
                length <= room
            })
            .collect();
        (keys.len() > 1).then(|| format!("keys {}", keys.join(", ")))
    }
}

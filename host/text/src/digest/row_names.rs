//! Names of rows: the value of the column that identifies them, or the key in a map.

use super::{
    document::{NodeIndex, NodeKind, ParsedDocument},
    profile::DocumentPlace,
    stats::PlaceStats,
    value::quoted,
};
use crate::split_list;

/// Last steps of columns whose values people call rows by, the best first. Compared without case and underscores.
const NAME_KEYS: [&str; 32] = split_list(
    "name|title|fullname|displayname|label|subject|headline|summary|package|job|path|file|filename|key|\
    slug|login|username|email|zone|host|hostname|command|comm|commit|product|city|country|company|\
    question|heading|topic|species",
);

/// Last steps of columns that only tell rows apart.
const ID_KEYS: [&str; 10] = ["id", "number", "no", "sha", "uuid", "guid", "ref", "code", "url", "pid"];

/// Ranks of columns: names that differ in each row, in nearly each row, ids, other words, and names that often repeat.
const NEARLY_UNIQUE: usize = 100;
const ID: usize = 200;
const OTHER_WORDS: usize = 300;
const REPEATED: usize = 400;

/// Added for each level of nesting.
const NESTED: usize = 40;

const MAX_NAME_CHARS: usize = 60;
const MAX_MEAN_BYTES: usize = 100;

pub(super) struct RowNames<'l, 'a> {
    document: &'l ParsedDocument<'a>,
    places: &'l [DocumentPlace],
    columns: Vec<Option<usize>>,
}

impl<'l, 'a> RowNames<'l, 'a> {
    pub(super) fn new(
        document: &'l ParsedDocument<'a>,
        places: &'l [DocumentPlace],
        stats: &[PlaceStats],
    ) -> Self {
        let mut best: Vec<Option<(usize, usize)>> = vec![None; places.len()];
        for (at, (place, stats)) in places.iter().zip(stats).enumerate() {
            // Queries refer to the row of a map by its key.
            let keyed = places[place.table].name.ends_with(".*");
            let rank =
                if place.is_row || keyed { None } else { rank(document, place, stats, &places[place.table]) };
            let Some(rank) = rank else { continue };
            let best = &mut best[place.table];
            if best.is_none_or(|(before, _)| rank < before) {
                *best = Some((rank, at));
            }
        }
        Self { document, places, columns: best.into_iter().map(|best| Some(best?.1)).collect() }
    }

    pub(super) fn column(&self, table: usize) -> Option<usize> {
        self.columns[table]
    }

    pub(super) fn row(&self, table: usize, id: NodeIndex) -> Option<NodeIndex> {
        let rows = &self.places[table].values;
        let row = rows[..rows.partition_point(|row| *row <= id)].last().copied()?;
        (id < self.document.after(row)).then_some(row)
    }

    pub(super) fn value(&self, table: usize, row: NodeIndex) -> Option<NodeIndex> {
        if let Some(column) = self.columns[table] {
            let values = &self.places[column].values;
            let first = values.get(values.partition_point(|value| *value <= row)).copied();
            return first.filter(|value| *value < self.document.after(row));
        }
        (table > 0 && self.places[table].is_row).then(|| self.document.key(row))?
    }

    /// Returns the quoted name of the row that contains a value, `None` if the value is itself the name.
    pub(super) fn name(&self, table: usize, id: NodeIndex) -> Option<String> {
        let value = self.value(table, self.row(table, id)?)?;
        (value != id).then(|| match self.document.kind(value) {
            NodeKind::String => quoted(&self.document.string(value), MAX_NAME_CHARS),
            _ => self.document.source(value).to_owned(),
        })
    }
}

/// Rates a column as the name of its table's rows, 0 being best.
fn rank(
    document: &ParsedDocument<'_>,
    place: &DocumentPlace,
    stats: &PlaceStats,
    table: &DocumentPlace,
) -> Option<usize> {
    let (have, rows) = (place.values.len(), table.values.len());
    if rows < 2 || have * 10 < rows * 9 {
        return None;
    }
    let texts = stats.kind(NodeKind::String);
    let numbers = stats.kind(NodeKind::Number);
    let nested = place.name[table.name.len()..].matches(['.', '[']).count().saturating_sub(1);
    let key = place.key().replace('_', "").to_ascii_lowercase();
    let of = |keys: &[&str]| keys.iter().position(|name| *name == key);
    let (name, id) = (of(&NAME_KEYS), of(&ID_KEYS));
    let listed = name.is_some() || id.is_some();
    let different = stats.scalars.len();
    let unique = different == rows && have == rows;
    let plain = texts == have || (numbers == have && listed);
    let bytes: usize = stats.scalars.iter().take(50).map(|(_, id)| document.size(*id)).sum();
    if !plain || bytes > MAX_MEAN_BYTES * stats.scalars.len().min(50) {
        return None;
    }
    let nested = NESTED * nested;
    match (name, id) {
        (Some(name), _) if unique => Some(name + nested),
        // Two issues can have one title, which still says more than their numbers.
        (Some(name), _) if different * 10 >= rows * 9 => Some(NEARLY_UNIQUE + name + nested),
        (_, Some(id)) if unique => Some(ID + id + nested),
        (None, None) if unique && are_words(stats) => Some(OTHER_WORDS + nested),
        (Some(name), _) if different * 2 >= rows => Some(REPEATED + name + nested),
        (_, Some(id)) if different * 2 >= rows => Some(REPEATED + NAME_KEYS.len() + id + nested),
        _ => None,
    }
}

fn are_words(stats: &PlaceStats) -> bool {
    stats.spread.as_ref().is_none_or(|spread| spread.scale == super::stats::MeasureScale::Length)
}

#[cfg(test)]
mod tests {
    use super::{super::profile::places, *};

    fn named(text: &str, table: &str, at: usize) -> Option<String> {
        let document = ParsedDocument::read(text).unwrap();
        let places = places(&document);
        let stats: Vec<PlaceStats> =
            places.iter().map(|place| PlaceStats::from_values(&document, &place.values)).collect();
        let names = RowNames::new(&document, &places, &stats);
        let table = places.iter().position(|place| place.name == table).unwrap();
        let row = places[table].values[at];
        names.name(table, document.children(row).last().unwrap_or(row))
    }

    #[test]
    fn rows_are_named_by_what_tells_them_apart() {
        let rows = r#"[{"size": 3, "name": "ant", "in": 1}, {"size": 2, "name": "bee", "in": 1}]"#;
        assert_eq!(named(rows, "$[]", 1).as_deref(), Some("\"bee\""));
        let issues = r#"[{"id": 71, "title": "Crash", "in": 1}, {"id": 72, "title": "Leak", "in": 1}]"#;
        assert_eq!(named(issues, "$[]", 1).as_deref(), Some("\"Leak\""));
        let titles =
            (0..20).map(|n| format!(r#"{{"number": {n}, "Display_Name": "t{}", "n": 1}}"#, n.max(1)));
        let titles = format!("[{}]", titles.collect::<Vec<_>>().join(","));
        assert_eq!(named(&titles, "$[]", 7).as_deref(), Some("\"t7\""));
        let orders = r#"[{"id": "a", "note": "x y", "in": 1}, {"id": "b", "note": "z", "in": 1}]"#;
        assert_eq!(named(orders, "$[]", 1).as_deref(), Some("\"b\""));
        let map = r#"{"m": {"a.1": {"n": 1}, "a.2": {"n": 1}, "a.3": {"n": 1}, "a.4": {"n": 1}, "a.5": {"n": 1}, "a.6": {"n": 1}}}"#;
        assert_eq!(named(map, "$.m.*", 2).as_deref(), Some("\"a.3\""));
        assert_eq!(named(r#"[{"n": 1, "x": "a"}, {"n": 1, "x": "a"}]"#, "$[]", 0), None);
    }
}

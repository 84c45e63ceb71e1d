//! Finds the structure of a document: the places that have the same meaning.
//!
//! All elements of a list share one place (`$.items[]`), and so do all values of an object that is used as a map
//! (`$.versions.*`). Each key of a record is its own place. The places of the same rows are the columns of one table.

use std::collections::HashMap;

use super::document::{NodeIndex, NodeKind, ParsedDocument, RowCounts, step};

/// Maximum places; a document may have as many as it has nodes.
const MAX_PLACES: usize = 600;

const MAX_DEPTH: usize = 24;

/// Maximum distinct keys of a record. An object with more is a map.
const MAX_KEYS: usize = 4096;

/// Maximum length of lists that may be rows without keys.
const MAX_TUPLE: usize = 32;

#[derive(Debug, Default)]
pub(super) struct DocumentPlace {
    /// Name in a digest: `$.items[].price`.
    pub(super) name: String,
    pub(super) values: Vec<NodeIndex>,
    /// Number of rows that could have it.
    pub(super) rows: usize,
    /// The place of the rows to which this column belongs, or the place itself for a row.
    pub(super) table: usize,
    pub(super) parent: usize,
    /// True if its values are rows: elements of a list, values of a map, or the document.
    pub(super) is_row: bool,
    /// Number of duplicate keys in its objects.
    pub(super) doubled: usize,
}

impl DocumentPlace {
    /// Counts the rows of a table, which the containers at `parent` hold.
    pub(super) fn row_counts(&self, document: &ParsedDocument<'_>, parent: &Self) -> RowCounts {
        let holds = |id: &&NodeIndex| matches!(document.kind(**id), NodeKind::Array | NodeKind::Object);
        let held = parent.values.iter().filter(holds);
        let total = if self.is_row { held.map(|id| document.len(*id)).sum() } else { self.rows };
        RowCounts { all: total.max(self.rows), read: self.rows }
    }

    pub(super) fn bytes(&self, document: &ParsedDocument<'_>) -> usize {
        self.values.iter().map(|id| document.size(*id)).sum()
    }

    pub(super) fn key(&self) -> &str {
        self.name.rsplit('.').next().unwrap_or_default()
    }
}

pub(super) fn places(document: &ParsedDocument<'_>) -> Vec<DocumentPlace> {
    let mut finder = PlaceFinder { document, places: Vec::new() };
    let root = DocumentPlace {
        name: "$".into(),
        values: vec![ParsedDocument::ROOT],
        rows: 1,
        is_row: true,
        ..DocumentPlace::default()
    };
    finder.explore(root, 0);
    finder.places
}

struct PlaceFinder<'d, 'a> {
    document: &'d ParsedDocument<'a>,
    places: Vec<DocumentPlace>,
}

struct KeyGroup {
    key: NodeIndex,
    values: Vec<NodeIndex>,
    last: NodeIndex,
}

enum ObjectShape {
    Record { groups: Vec<KeyGroup>, doubled: usize },
    Map(Vec<NodeIndex>),
}

impl PlaceFinder<'_, '_> {
    fn explore(&mut self, place: DocumentPlace, depth: usize) {
        if self.places.len() >= MAX_PLACES {
            return;
        }
        let index = self.places.len();
        let of = |kind: NodeKind| -> Vec<NodeIndex> {
            place.values.iter().copied().filter(|v| self.document.kind(*v) == kind).collect()
        };
        let (lists, objects) = (of(NodeKind::Array), of(NodeKind::Object));
        let (name, table) = (place.name.clone(), place.table);
        self.places.push(place);
        if depth >= MAX_DEPTH {
            return;
        }
        if !lists.is_empty() {
            self.lists(&name, index, table, &lists, depth);
        }
        if objects.is_empty() {
            return;
        }
        match self.group(&objects) {
            ObjectShape::Map(values) => self.rows(format!("{name}.*"), index, values, depth),
            ObjectShape::Record { groups, doubled } => {
                self.places[index].doubled = doubled;
                let rows = objects.len();
                for KeyGroup { key, values, .. } in groups {
                    let name = format!("{name}{}", step(&self.document.string(key)));
                    let column =
                        DocumentPlace { name, values, rows, table, parent: index, ..Default::default() };
                    self.explore(column, depth + 1);
                }
            }
        }
    }

    fn lists(&mut self, name: &str, index: usize, table: usize, lists: &[NodeIndex], depth: usize) {
        let width = self.document.len(lists[0]);
        let tuple = lists.len() >= 8
            && (2..=MAX_TUPLE).contains(&width)
            && lists.iter().all(|list| self.document.len(*list) == width);
        if !tuple {
            let values: Vec<NodeIndex> =
                lists.iter().flat_map(|list| self.document.children(*list)).collect();
            return self.rows(format!("{name}[]"), index, values, depth);
        }
        let mut columns = vec![Vec::with_capacity(lists.len()); width];
        for list in lists {
            self.document.children(*list).zip(&mut columns).for_each(|(value, column)| column.push(value));
        }
        for (n, values) in columns.into_iter().enumerate() {
            let (name, rows) = (format!("{name}[{n}]"), lists.len());
            let column = DocumentPlace { name, values, rows, table, parent: index, ..Default::default() };
            self.explore(column, depth + 1);
        }
    }

    fn rows(&mut self, name: String, parent: usize, values: Vec<NodeIndex>, depth: usize) {
        if !values.is_empty() {
            let (rows, table) = (values.len(), self.places.len());
            let place = DocumentPlace { name, values, rows, table, parent, is_row: true, doubled: 0 };
            self.explore(place, depth + 1);
        }
    }

    fn group(&self, objects: &[NodeIndex]) -> ObjectShape {
        let everything = || objects.iter().flat_map(|object| self.document.children(*object)).collect();
        let mut groups: Vec<KeyGroup> = Vec::new();
        let mut positions: HashMap<&str, usize> = HashMap::new();
        let mut doubled = 0;
        for object in objects {
            // Rows usually have the same keys in the same order, so try the next group first.
            let mut guess = 0;
            for (key, value) in self.document.members(*object) {
                let Some(key) = key else { continue };
                let name = self.document.raw(key);
                let at = match groups.get(guess) {
                    Some(group) if self.document.raw(group.key) == name => guess,
                    _ => *positions.entry(name).or_insert(groups.len()),
                };
                guess = at + 1;
                match groups.get_mut(at) {
                    None => groups.push(KeyGroup { key, values: vec![value], last: *object }),
                    Some(group) => {
                        doubled += usize::from(group.last == *object);
                        group.last = *object;
                        group.values.push(value);
                    }
                }
                if groups.len() > MAX_KEYS {
                    return ObjectShape::Map(everything());
                }
            }
        }
        if self.is_map(objects, &groups) {
            ObjectShape::Map(everything())
        } else {
            ObjectShape::Record { groups, doubled }
        }
    }

    /// Returns whether keys are data instead of names: many, seldom shared, and with similar values.
    fn is_map(&self, objects: &[NodeIndex], groups: &[KeyGroup]) -> bool {
        let members: usize = groups.iter().map(|g| g.values.len()).sum();
        let presence = members as f64 / (groups.len() * objects.len()).max(1) as f64;
        let shared = objects.len() > 1 && presence >= 0.25;
        if groups.len() < 6 || shared {
            return false;
        }
        let values: Vec<NodeIndex> = groups.iter().flat_map(|g| g.values.iter().copied()).take(400).collect();
        let Some(kind) = self.common_kind(&values) else { return false };
        let data = groups.iter().filter(|g| looks_like_data(self.document.raw(g.key))).count();
        let data = data * 2 >= groups.len();
        match kind {
            NodeKind::Object => self.alike(&values) && (data || groups.len() >= 8),
            _ => groups.len() >= 24 || data,
        }
    }

    /// Returns the kind of at least 90 % of the values that are not null.
    fn common_kind(&self, values: &[NodeIndex]) -> Option<NodeKind> {
        let kinds: Vec<NodeKind> =
            values.iter().map(|v| self.document.kind(*v)).filter(|k| *k != NodeKind::Null).collect();
        let of = |kind: NodeKind| kinds.iter().filter(|k| **k == kind).count();
        NodeKind::ALL.into_iter().find(|kind| of(*kind) > 0 && of(*kind) * 10 >= kinds.len() * 9)
    }

    fn alike(&self, objects: &[NodeIndex]) -> bool {
        let mut times: HashMap<&str, usize> = HashMap::new();
        let keys = |object: NodeIndex| {
            self.document.members(object).take(64).filter_map(|(k, _)| k).map(|k| self.document.raw(k))
        };
        for key in objects.iter().flat_map(|object| keys(*object)) {
            *times.entry(key).or_default() += 1;
        }
        let total: usize = times.values().sum();
        let common: usize = times.values().filter(|n| **n * 5 >= objects.len() * 2).sum();
        common * 10 >= total * 6
    }
}

/// Returns whether a key looks like data instead of a field name.
fn looks_like_data(key: &str) -> bool {
    key.contains(|c: char| c.is_ascii_digit() || matches!(c, '.' | '/' | '-' | '@' | ':' | ' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, usize, bool)> {
        let document = ParsedDocument::read(text).unwrap();
        places(&document).into_iter().map(|p| (p.name, p.values.len(), p.is_row)).collect()
    }

    fn named(names: &[(&str, usize, bool)]) -> Vec<(String, usize, bool)> {
        names.iter().map(|(n, v, r)| ((*n).to_owned(), *v, *r)).collect()
    }

    #[test]
    fn rows_are_one_place_and_their_keys_columns() {
        let text = r#"{"n": 2, "items": [{"a": 1, "b": {"c": []}}, {"a": 2}, 3]}"#;
        assert_eq!(
            names(text),
            named(&[
                ("$", 1, true),
                ("$.n", 1, false),
                ("$.items", 1, false),
                ("$.items[]", 3, true),
                ("$.items[].a", 2, false),
                ("$.items[].b", 1, false),
                ("$.items[].b.c", 1, false),
            ])
        );
    }

    #[test]
    fn an_object_used_as_a_map_is_rows() {
        let versions: Vec<String> = (0..9).map(|i| format!("\"1.{i}.0\": {{\"size\": {i}}}")).collect();
        let text = format!("{{\"versions\": {{{}}}, \"a\": 1}}", versions.join(","));
        assert!(names(&text).contains(&("$.versions.*".into(), 9, true)));
        assert!(names(&text).contains(&("$.versions.*.size".into(), 9, false)));
    }

    #[test]
    fn a_record_of_mixed_values_is_no_map() {
        let text =
            r#"{"a": 1, "b": "x", "c": true, "d": null, "e": [], "f": {}, "g": 2, "h": "y", "i-1": 3}"#;
        assert!(names(text).contains(&("$.h".into(), 1, false)));
    }

    #[test]
    fn lists_of_one_length_are_rows_without_keys() {
        let rows: Vec<String> = (0..10).map(|i| format!("[{i}, \"x\"]")).collect();
        assert!(names(&format!("[{}]", rows.join(","))).contains(&("$[][1]".into(), 10, false)));
    }

    #[test]
    fn doubled_keys_are_counted() {
        let document = ParsedDocument::read(r#"[{"a": 1, "a": 2}, {"a": 3}]"#).unwrap();
        assert_eq!(places(&document)[1].doubled, 1);
    }

    #[test]
    fn places_are_bounded() {
        let deep = format!("{}1{}", "{\"k\":[".repeat(5000), "]}".repeat(5000));
        assert!(names(&deep).len() <= MAX_PLACES);
        let wide: Vec<String> =
            (0..5000).map(|i| format!("\"k{}\": {i}", "x".repeat(i % 7) + &i.to_string())).collect();
        assert!(names(&format!("{{{}}}", wide.join(","))).len() <= MAX_PLACES);
    }
}

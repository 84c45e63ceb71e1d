//! Counts of a result: lines, words, first words, cells, extensions, directories, and in JSON the values at each path
//! (how many, how many distinct, lengths and sums). Shares no code with the digests.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    hash::Hash,
};

use serde_json::Value;

/// Returns all counts as plain digits, and the length of the longest list.
pub(super) fn numbers(text: &str) -> (HashSet<String>, usize) {
    let mut counts = Counts::default();
    counts.lines(text);
    counts.cells(text);
    counts.changes(text);
    let mut places = BTreeMap::new();
    match serde_json::from_str::<Value>(text) {
        Ok(root) => walk("$", &root, &mut places),
        Err(_) => {
            let rows: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            walk("$", &Value::Array(rows), &mut places);
        }
    }
    places.values().for_each(|values| counts.values(values));
    let lists = places.values().flatten().filter_map(|value| value.as_array().map(Vec::len));
    (counts.0, lists.max().unwrap_or(0))
}

type Places = BTreeMap<String, Vec<Value>>;

fn walk(place: &str, value: &Value, places: &mut Places) {
    places.entry(place.to_owned()).or_default().push(value.clone());
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                walk(&format!("{place}[]"), item, places);
                if items.len() <= 32 && !item.is_object() {
                    walk(&format!("{place}[{at}]"), item, places);
                }
            }
        }
        Value::Object(members) => {
            for (key, item) in members {
                walk(&format!("{place}.{key}"), item, places);
                walk(&format!("{place}.*"), item, places);
            }
        }
        _ => {}
    }
}

#[derive(Default)]
struct Counts(HashSet<String>);

impl Counts {
    fn add(&mut self, count: usize) {
        self.0.insert(count.to_string());
    }

    /// Adds the frequency of each value, the total, and the numbers of distinct and unique values.
    fn times<T: Hash + Eq>(&mut self, all: impl Iterator<Item = T>) {
        let mut times: HashMap<T, usize> = HashMap::new();
        all.for_each(|one| *times.entry(one).or_default() += 1);
        self.add(times.len());
        self.add(times.values().sum());
        self.add(times.values().filter(|n| **n == 1).count());
        times.values().for_each(|n| self.add(*n));
    }

    fn lines(&mut self, text: &str) {
        self.add(text.len());
        self.add(text.trim().len());
        self.add(text.chars().count());
        let lines = || text.lines();
        let filled = || lines().filter(|line| !line.trim().is_empty());
        self.add(lines().count());
        self.times(filled());
        self.times(text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()));
        self.times(text.split_whitespace());
        for words in 1..=4 {
            self.times(filled().map(|line| line.split_whitespace().take(words).collect::<Vec<_>>()));
        }
        self.times(filled().map(|line| line.rsplit_once('/').map_or("", |(folder, _)| folder)));
        for at in 0..12 {
            let paths = || filled().filter_map(|line| line.split_whitespace().nth(at));
            self.times(paths().filter_map(|path| Some(path.rsplit_once('/')?.0)));
            self.times(paths().filter_map(|path| Some(path.rsplit_once('.')?.1)));
        }
        self.times(filled().map(|line| line.rsplit_once('.').map_or("", |(_, extension)| extension)));
        lines().for_each(|line| self.add(line.matches('/').count()));
    }

    /// Counts values between commas, tabs, bars, semicolons and spaces, by column.
    fn cells(&mut self, text: &str) {
        // All lines, lines below a header, and rows of SQL statements.
        let all: Vec<&str> = text.lines().collect();
        let below = all.get(1..).unwrap_or_default().to_vec();
        let stated = all.iter().copied().filter(|line| line.contains("VALUES")).collect();
        for lines in [all, below, stated] {
            for mark in [',', '\t', '|', ';', ' '] {
                self.columns(&lines, mark);
            }
        }
    }

    fn columns(&mut self, lines: &[&str], mark: char) {
        let rows: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| {
                line.split(mark).map(|cell| cell.trim_matches(['"', ' ', '\'', '(', ')', ';'])).collect()
            })
            .filter(|row: &Vec<&str>| row.len() > 1)
            .collect();
        let widest = rows.iter().map(Vec::len).max().unwrap_or(0).min(64);
        for column in 0..widest {
            let cells = || rows.iter().filter_map(|row| row.get(column).copied());
            self.times(cells().filter(|cell| !cell.is_empty()));
            self.sum(cells());
            cells().for_each(|cell| self.add(cell.len()));
        }
        self.add(widest);
        self.add(rows.len());
    }

    /// Counts the lines that a diff adds and removes, per file and in total.
    fn changes(&mut self, text: &str) {
        let (mut all, mut files) = ((0, 0), 0);
        for file in text.split("\ndiff --git ").filter(|file| file.contains("@@ ")) {
            let body = file.split_once("\n@@ ").map_or("", |(_, body)| body);
            let count = |mark: char| body.lines().filter(|line| line.starts_with(mark)).count();
            self.add(count('+'));
            self.add(count('-'));
            all = (all.0 + count('+'), all.1 + count('-'));
            files += 1;
        }
        [all.0, all.1, files].into_iter().for_each(|count| self.add(count));
    }

    fn sum<'a>(&mut self, cells: impl Iterator<Item = &'a str>) {
        let numbers: Vec<f64> = cells.filter_map(|cell| cell.parse().ok()).collect();
        let sum: f64 = numbers.iter().sum();
        for digits in 0..=6 {
            self.0.insert(format!("{:.digits$}", sum.abs()));
        }
    }

    fn values(&mut self, values: &[Value]) {
        let scalars = || values.iter().filter(|value| !value.is_array() && !value.is_object());
        self.times(scalars().map(Value::to_string));
        self.times(values.iter().map(std::mem::discriminant));
        self.add(values.len());
        let texts: Vec<String> = scalars().map(|v| v.as_str().map_or(v.to_string(), str::to_owned)).collect();
        self.sum(texts.iter().map(String::as_str));
        for value in values {
            match value {
                Value::Array(items) => self.add(items.len()),
                Value::Object(members) => self.add(members.len()),
                Value::String(text) => {
                    self.add(text.len());
                    self.add(text.chars().count());
                    self.add(value.to_string().len());
                }
                _ => {}
            }
        }
    }
}

//! Templates of lines: a line without its variable words, which are rare or have digits.
//!
//! Words are counted in two tables of fixed size with different hashes, and the smaller count is used (Cormode and
//! Muthukrishnan, "An improved data stream summary", 2005). Memory is constant, and a count is too high only for a word
//! that collides in both tables.

use std::collections::HashMap;

use super::{
    lines::{MAX_LINE_BYTES, MAX_SHOWN_CHARS, join, numbered, shown},
    severity::{LineSeverity, failure_severity},
    timestamp,
};
use crate::fnv::{self, fnv1a};

pub(super) const MAX_TEMPLATE_WORDS: usize = 40;

const MAX_CHANGING_WORDS: usize = 12;

const BUCKETS: usize = 1 << 18;

pub(super) struct WordFrequencies {
    tables: [Vec<u32>; 2],
    /// Minimum frequency of a word in a template.
    least: u32,
}

impl WordFrequencies {
    /// Counts the words. Also returns the number of lines.
    pub(super) fn from_text(text: &str) -> (Self, usize) {
        let mut tables = [vec![0_u32; BUCKETS], vec![0_u32; BUCKETS]];
        let mut lines = 0;
        for (number, line) in numbered(text) {
            lines = number;
            for word in line.split_whitespace().take(MAX_TEMPLATE_WORDS) {
                for (table, bucket) in tables.iter_mut().zip(buckets(word)) {
                    table[bucket] = table[bucket].saturating_add(1);
                }
            }
        }
        let least = u32::try_from(lines / 100).unwrap_or(u32::MAX).clamp(2, 200);
        (Self { tables, least }, lines)
    }

    fn count(&self, word: &str) -> u32 {
        let [a, b] = buckets(word);
        self.tables[0][a].min(self.tables[1][b])
    }

    /// Returns the template of a line without its timestamp, and its variable words. The first word belongs to it if
    /// another line has the same one.
    pub(super) fn template<'a>(&self, line: &'a str) -> (String, Vec<&'a str>) {
        let mut form = String::new();
        let mut changing = Vec::new();
        let line = timestamp::without_timestamp(line);
        let mut words = line.split_whitespace();
        for word in words.by_ref().take(MAX_TEMPLATE_WORDS) {
            let least = if form.is_empty() || form == "…" { 2 } else { self.least };
            if !word.contains(|c: char| c.is_ascii_digit()) && self.count(word) >= least {
                form.push_str(if form.is_empty() { "" } else { " " });
                form.push_str(word);
                continue;
            }
            if changing.len() < MAX_CHANGING_WORDS {
                changing.push(word);
            }
            // Adjacent variable words are one gap, because messages differ in length.
            if !form.ends_with('…') {
                form.push_str(if form.is_empty() { "…" } else { " …" });
            }
        }
        if words.next().is_some() {
            form.push_str(" …");
        }
        form.truncate(form.floor_char_boundary(MAX_LINE_BYTES));
        (form, changing)
    }
}

/// Returns the bucket of a word in each table: FNV-1a, and its bits mixed again (Stafford's variant
/// 13 of MurmurHash3's finalizer). Both are the same on every machine.
fn buckets(word: &str) -> [usize; 2] {
    let hash = fnv1a(fnv::START, word.as_bytes());
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    [(hash ^ (hash >> 32)) as usize % BUCKETS, (mixed ^ (mixed >> 31)) as usize % BUCKETS]
}

/// Start of the key of a template whose lines count failures.
pub(super) const COUNTED_FAILURE: &str = "\u{1}";

const MAX_SLOT_VALUES: usize = 12;

const MAX_FEW_VALUES: usize = 6;

/// Maximum distinct lines of a template of failures, and those on one line of the digest.
const MAX_EXAMPLES: usize = 9;
const MAX_EXAMPLES_PER_LINE: usize = 3;

/// Maximum lines of a template of places in files that are failures.
const MAX_PLACES: usize = 3;

pub(super) struct LineTemplate {
    pub(super) times: usize,
    /// Distinct example lines with their numbers: one, or several for a failure.
    pub(super) examples: Vec<(usize, String)>,
    places: Vec<TemplateSlot>,
    pub(super) failure: Option<LineSeverity>,
}

#[derive(Default)]
struct TemplateSlot {
    values: HashMap<String, usize>,
    more: bool,
    /// The largest measure: its number, its text, and the number and text of its line.
    largest: Option<(f64, String, usize, String)>,
}

impl LineTemplate {
    /// Returns whether its lines are failures. A place in a file is one only if few lines have it.
    pub(super) fn reports_failure(&self) -> bool {
        self.failure.is_some_and(|failure| failure != LineSeverity::Place || self.times <= MAX_PLACES)
    }

    pub(super) fn new(level: Option<&str>, line: &str) -> Self {
        Self { times: 0, examples: Vec::new(), places: Vec::new(), failure: failure_severity(level, line) }
    }

    pub(super) fn add(&mut self, number: usize, line: &str, changing: &[&str]) {
        self.times += 1;
        let examples = if self.failure.is_some() { MAX_EXAMPLES } else { 1 };
        if self.examples.len() < examples {
            let line = shown(line, MAX_SHOWN_CHARS);
            if self.examples.iter().all(|(_, known)| *known != line) {
                self.examples.push((number, line));
            }
        }
        self.places.resize_with(self.places.len().max(changing.len()), TemplateSlot::default);
        for (place, value) in self.places.iter_mut().zip(changing) {
            place.add(number, line, value);
        }
    }

    /// Appends the place in a file of the last line.
    pub(super) fn add_place(&mut self, number: usize, line: &str) {
        if let Some((known, text)) = self.examples.last_mut()
            && *known + 1 == number
        {
            text.push(' ');
            text.push_str(&shown(line, MAX_SHOWN_CHARS));
        }
    }

    /// Returns `2 × FAILED … | line 7: FAILED a | line 9: FAILED b`, and further lines below.
    pub(super) fn failures(&self, form: &str) -> Vec<String> {
        if self.times == 1 {
            return self.examples.iter().map(line_with_number).collect();
        }
        let groups = self.examples.chunks(MAX_EXAMPLES_PER_LINE);
        let mut lines: Vec<String> =
            groups.map(|group| join(group.iter().map(line_with_number), " | ")).collect();
        let form = shown(form.trim_start_matches(COUNTED_FAILURE), MAX_SHOWN_CHARS);
        if let Some(first) = lines.first_mut() {
            *first = format!("{} × {form} | {first}", self.times);
        }
        lines
    }

    /// Returns `371 × http fetch GET … (200 ×371; max 338ms: line 77: …)`.
    pub(super) fn render(&self, form: &str) -> String {
        if self.times == 1 {
            return self.examples.iter().map(line_with_number).collect();
        }
        let places = join(self.places.iter().filter_map(|place| place.render(self.times)).take(3), "; ");
        let places = if places.is_empty() { places } else { format!(" ({places})") };
        format!("{} × {}{places}", self.times, shown(form, MAX_SHOWN_CHARS))
    }
}

pub(super) fn line_with_number((number, line): &(usize, String)) -> String {
    format!("line {number}: {line}")
}

impl TemplateSlot {
    fn add(&mut self, number: usize, line: &str, value: &str) {
        let value = &value[..value.floor_char_boundary(60)];
        if let Some(n) = self.values.get_mut(value) {
            *n += 1;
        } else if self.values.len() < MAX_SLOT_VALUES {
            self.values.insert(value.to_owned(), 1);
        } else {
            self.more = true;
        }
        if let Some(n) = measure(value)
            && self.largest.as_ref().is_none_or(|(largest, ..)| n > *largest)
        {
            self.largest = Some((n, shown(value, 40), number, shown(line, MAX_SHOWN_CHARS)));
        }
    }

    /// Returns the values with their counts if they are few, else the largest measure.
    fn render(&self, times: usize) -> Option<String> {
        let repeated = self.values.values().any(|n| *n > 1) || times <= MAX_FEW_VALUES;
        if !self.more && self.values.len() <= MAX_FEW_VALUES && repeated {
            let mut values: Vec<(&String, &usize)> = self.values.iter().collect();
            values.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
            let parts = values.iter().map(|(value, n)| match n {
                1 => shown(value, 40),
                n => format!("{} ×{n}", shown(value, 40)),
            });
            return Some(join(parts, ", "));
        }
        let (_, written, number, line) = self.largest.as_ref()?;
        (times >= MAX_FEW_VALUES).then(|| format!("max {written}: line {number}: {line}"))
    }
}

/// Returns the number in a value with a unit: `338ms`, `[0.5s]`, `93%`.
fn measure(value: &str) -> Option<f64> {
    let value = value.trim_matches(|c: char| c.is_ascii_punctuation() && c != '%');
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit = &value[end..];
    let is_unit = unit.len() <= 4 && unit.chars().all(|c| c.is_alphabetic() || c == '%');
    value[..end].parse().ok().filter(|_| is_unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_taken_out() {
        let text = "get a 200\nget b 404\nput c 200\nput d 200\nget e 200 f\n";
        let (frequencies, lines) = WordFrequencies::from_text(text);
        assert_eq!(lines, 5);
        assert_eq!(frequencies.template("get a 200"), ("get …".to_owned(), vec!["a", "200"]));
        assert_eq!(frequencies.template("2026-01-01 put x"), ("put …".to_owned(), vec!["x"]));
        assert_eq!(frequencies.template(""), (String::new(), vec![]));
    }
}

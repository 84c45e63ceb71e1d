//! The lines of one template: how many, examples, and the values of their variable words.

use std::collections::HashMap;

use super::{
    lines::{MAX_SHOWN_CHARS, shown},
    severity::{LineSeverity, failure_severity},
};

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
        let told = |(number, line): &(usize, String)| format!("line {number}: {line}");
        if self.times == 1 {
            return self.examples.iter().map(told).collect();
        }
        let groups = self.examples.chunks(MAX_EXAMPLES_PER_LINE);
        let mut lines: Vec<String> =
            groups.map(|group| group.iter().map(told).collect::<Vec<_>>().join(" | ")).collect();
        let form = shown(form.trim_start_matches(COUNTED_FAILURE), MAX_SHOWN_CHARS);
        if let Some(first) = lines.first_mut() {
            *first = format!("{} × {form} | {first}", self.times);
        }
        lines
    }

    /// Returns `371 × http fetch GET … (200 ×371; max 338ms: line 77: …)`.
    pub(super) fn render(&self, form: &str) -> String {
        if self.times == 1 {
            return self.examples.iter().map(|(number, line)| format!("line {number}: {line}")).collect();
        }
        let places: Vec<String> =
            self.places.iter().filter_map(|place| place.render(self.times)).take(3).collect();
        let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join("; ")) };
        format!("{} × {}{places}", self.times, shown(form, MAX_SHOWN_CHARS))
    }
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
            let told = values.iter().map(|(value, n)| match n {
                1 => shown(value, 40),
                n => format!("{} ×{n}", shown(value, 40)),
            });
            return Some(told.collect::<Vec<_>>().join(", "));
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

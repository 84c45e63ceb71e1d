//! Tells a log: how many lines of which level, from when to when, what failed, and the forms that its lines have.
//!
//! What changes from line to line is taken out of lines ([`super::forms`]); traces of exceptions are kept together
//! ([`super::trace`]).

use std::collections::HashMap;

use super::{
    fit::Section,
    forms::{Frequencies, WORDS},
    kind::{Sample, TextKind},
    lines::{Counts, SHOWN, matching, numbered, shown},
    stamp::{self, Stamps},
    trace::Traces,
    words,
};

/// Lines with times, levels or traces.
pub(super) const KIND: TextKind = TextKind { name: "log", is, sections };

/// Any text whose lines have few forms: lists of packages, output of builds, settings.
pub(super) const LINES: TextKind = TextKind { name: "lines", is: is_repetitive, sections };

/// Forms that are told apart.
const FORMS: usize = 4_096;

/// Forms, and forms of failures, that are shown at most.
const SHOWN_FORMS: usize = 60;
const SHOWN_FAILURES: usize = 24;

/// Different words in one place of a form that are counted.
const VALUES: usize = 12;

/// Values that are few, and lines of a failure that are shown.
const FEW: usize = 6;
const EXAMPLES: usize = 3;

/// Lines of the end that are shown.
const LAST: usize = 4;

fn is(sample: &Sample<'_>) -> bool {
    let lines = sample.lines.iter().filter(|line| !line.trim().is_empty());
    let (mut all, mut logged, mut traced) = (0, 0, 0);
    let mut traces = Traces::default();
    for (number, line) in lines.enumerate() {
        all += 1;
        traced += usize::from(traces.line(number, line));
        logged += usize::from(stamp::of(line).is_some() || stamp::level(line).is_some());
    }
    all >= 3 && (logged * 2 >= all || (traces.count() > 0 && (logged + traced) * 4 >= all))
}

fn is_repetitive(sample: &Sample<'_>) -> bool {
    let mut firsts = Counts::of(400);
    let mut all = 0;
    for line in sample.lines.iter().filter(|line| !line.trim().is_empty()) {
        all += 1;
        firsts.add(line.split_whitespace().next().unwrap_or_default(), 1);
    }
    all >= 20 && firsts.frequent().iter().take(12).map(|(_, n)| n).sum::<usize>() * 10 >= all * 6
}

/// Lines of one form.
struct Form {
    times: usize,
    /// Some of them that differ, with their numbers: the first one, and more where they tell of a failure.
    examples: Vec<(usize, String)>,
    /// What stands in its changing places.
    places: Vec<Place>,
    failure: Option<Failure>,
}

/// How bad what a line tells is; the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Failure {
    Error,
    Warning,
}

/// What stands in one changing place of a form.
#[derive(Default)]
struct Place {
    values: HashMap<String, usize>,
    more: bool,
    /// The largest measure, as it is written, with its line.
    largest: Option<(f64, String, usize, String)>,
}

fn sections(text: &str, query: &str, _: usize) -> Vec<Section> {
    let (frequencies, lines) = Frequencies::of(text);
    let (mut stamps, mut traces, mut levels) = (Stamps::default(), Traces::default(), Counts::of(16));
    let (mut firsts, mut forms) = (Counts::of(FORMS), HashMap::<String, Form>::new());
    let mut other_forms = 0;
    let mut last: Vec<(usize, &str)> = Vec::new();
    for (number, line) in numbered(text) {
        if line.trim().is_empty() {
            continue;
        }
        if last.len() == LAST {
            last.remove(0);
        }
        last.push((number, line));
        stamps.line(line);
        let level = stamp::level(line);
        if let Some(level) = level {
            levels.add(level.to_owned(), 1);
        }
        if traces.line(number, line) {
            continue;
        }
        firsts.add(first_word(line), 1);
        let (form, changing) = frequencies.form(line);
        if forms.len() >= FORMS && !forms.contains_key(&form) {
            other_forms += 1;
            continue;
        }
        forms.entry(form).or_insert_with(|| Form::of(level, line)).add(number, line, &changing);
    }
    let mut forms: Vec<(String, Form)> = forms.into_iter().collect();
    forms.sort_by(|(a, x), (b, y)| y.times.cmp(&x.times).then_with(|| a.cmp(b)));
    let (mut failures, rest): (Vec<_>, Vec<_>) =
        forms.into_iter().partition(|(_, form)| form.failure.is_some());
    failures.sort_by_key(|(_, form)| (form.failure, form.examples.first().map(|(number, _)| *number)));

    let mut findings = vec![format!("{lines} lines{}.", stamps.told())];
    if levels.len() > 0 {
        findings.push(format!("Lines by level: {}.", levels.told(8, String::clone)));
    }
    findings.extend(traces.finding());
    findings.extend(worst(&failures));
    findings.extend(stamps.busiest());
    findings.push(format!("Lines by first word: {}.", firsts.told(12, |word| shown(word, 40))));
    let told = |(key, form): &(String, Form)| form.told(key);
    let mut rest: Vec<String> = rest.iter().take(SHOWN_FORMS).map(told).collect();
    if other_forms > 0 {
        rest.push(format!("{other_forms} lines of other forms"));
    }
    let failures = failures.iter().take(SHOWN_FAILURES).map(told).collect();
    let last = last.iter().map(|(number, line)| format!("{number}: {}", shown(line, SHOWN))).collect();
    vec![
        Section::list(findings),
        Section::titled("Lines that match the query:", 40, matching(text, query)),
        Section::titled("Exceptions:", 25, traces.told()),
        Section::titled("Failures (times × form, with lines):", 30, failures),
        Section::titled("Last lines:", 12, last),
        Section::titled("Forms of lines (times × form; … stands for what changes):", 40, rest),
    ]
}

/// The first word of a line behind its time, without digits.
fn first_word(line: &str) -> String {
    let rest = stamp::of(line).map_or(line, |stamp| stamp.rest);
    let mut words = rest.split_whitespace().map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    let word = words.find(|word| word.starts_with(char::is_alphabetic)).unwrap_or("…");
    word[..word.floor_char_boundary(60)].to_owned()
}

fn worst(failures: &[(String, Form)]) -> Option<String> {
    let (number, first) = failures.first()?.1.examples.first()?;
    let lines: usize = failures.iter().map(|(_, form)| form.times).sum();
    Some(format!("{lines} lines speak of failures; line {number}: {first}"))
}

/// Whether a line tells of a failure. Words inside names (`errors_are_heard`) and counts of none (`0 failed`) do not.
fn failure(level: Option<&str>, line: &str) -> Option<Failure> {
    match level {
        Some("warn") => return Some(Failure::Warning),
        Some(level) if stamp::is_failure(level) => return Some(Failure::Error),
        _ => {}
    }
    let mut before = "";
    for word in line.split_whitespace().take(WORDS) {
        let plain = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let spoken = plain.bytes().all(|b| b.is_ascii_alphabetic()) && words::error_at(plain) == Some(0);
        let option = word.starts_with('-') || before.starts_with('-');
        if spoken && !option && !matches!(before, "0" | "no" | "without") {
            return Some(Failure::Error);
        }
        if plain.eq_ignore_ascii_case("warning") {
            return Some(Failure::Warning);
        }
        before = word;
    }
    None
}

impl Form {
    fn of(level: Option<&str>, line: &str) -> Self {
        Self { times: 0, examples: Vec::new(), places: Vec::new(), failure: failure(level, line) }
    }

    fn add(&mut self, number: usize, line: &str, changing: &[&str]) {
        self.times += 1;
        let examples = if self.failure.is_some() { EXAMPLES } else { 1 };
        if self.examples.len() < examples {
            let line = shown(line, SHOWN);
            if self.examples.iter().all(|(_, known)| *known != line) {
                self.examples.push((number, line));
            }
        }
        self.places.resize_with(self.places.len().max(changing.len()), Place::default);
        for (place, value) in self.places.iter_mut().zip(changing) {
            place.add(number, line, value);
        }
    }

    /// `371 × http fetch GET … (200 ×371; most 338ms: line 77: …)`. A line that stands alone is shown as it is.
    fn told(&self, form: &str) -> String {
        let examples = self.examples.iter().map(|(number, line)| format!("line {number}: {line}"));
        if self.times == 1 {
            return examples.collect();
        }
        let form = shown(form, SHOWN);
        if self.failure.is_some() {
            return format!("{} × {form} | {}", self.times, examples.collect::<Vec<_>>().join(" | "));
        }
        let places: Vec<String> =
            self.places.iter().filter_map(|place| place.told(self.times)).take(3).collect();
        let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join("; ")) };
        format!("{} × {form}{places}", self.times)
    }
}

impl Place {
    fn add(&mut self, number: usize, line: &str, value: &str) {
        let value = &value[..value.floor_char_boundary(60)];
        if let Some(n) = self.values.get_mut(value) {
            *n += 1;
        } else if self.values.len() < VALUES {
            self.values.insert(value.to_owned(), 1);
        } else {
            self.more = true;
        }
        if let Some(n) = measure(value)
            && self.largest.as_ref().is_none_or(|(largest, ..)| n > *largest)
        {
            self.largest = Some((n, shown(value, 40), number, shown(line, SHOWN)));
        }
    }

    /// Few values with their counts, or the largest measure.
    fn told(&self, times: usize) -> Option<String> {
        let repeated = self.values.values().any(|n| *n > 1) || times <= FEW;
        if !self.more && self.values.len() <= FEW && repeated {
            let mut values: Vec<(&String, &usize)> = self.values.iter().collect();
            values.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
            let told = values.iter().map(|(value, n)| match n {
                1 => shown(value, 40),
                n => format!("{} ×{n}", shown(value, 40)),
            });
            return Some(told.collect::<Vec<_>>().join(", "));
        }
        let (_, written, number, line) = self.largest.as_ref()?;
        (times >= FEW).then(|| format!("most {written}: line {number}: {line}"))
    }
}

/// The number of a value with a unit: `338ms`, `[0.5s]`, `93%`.
fn measure(value: &str) -> Option<f64> {
    let value = value.trim_matches(|c: char| c.is_ascii_punctuation() && c != '%');
    let end = value.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let unit = &value[end..];
    let is_unit = unit.len() <= 4 && unit.chars().all(|c| c.is_alphabetic() || c == '%');
    value[..end].parse().ok().filter(|_| is_unit)
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;

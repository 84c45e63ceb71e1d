//! Digests a log: lines per level, time range, failures, line templates ([`super::line_templates`]) and exceptions
//! ([`super::trace`]).

use std::collections::HashMap;

use super::{
    errors,
    fit::DigestSection,
    kind::{TextKind, TextSample},
    line_templates::{MAX_TEMPLATE_WORDS, WordFrequencies},
    lines::{BoundedCounts, MAX_SHOWN_CHARS, numbered, shown},
    timestamp::{self, TimestampRange},
    trace::TraceReader,
};

/// Lines with timestamps, levels or stack traces.
pub(super) const KIND: TextKind = TextKind { name: "log", is, sections };

/// Any text whose lines share a few templates: package lists, build output, settings.
pub(super) const LINES: TextKind = TextKind { name: "lines", is: is_repetitive, sections };

const MAX_TEMPLATES: usize = 4_096;

const MAX_SHOWN_TEMPLATES: usize = 60;
const MAX_SHOWN_FAILURES: usize = 24;

const MAX_SLOT_VALUES: usize = 12;

const MAX_FEW_VALUES: usize = 6;
const MAX_EXAMPLES: usize = 3;

const MAX_LAST_LINES: usize = 4;

fn is(sample: &TextSample<'_>) -> bool {
    let lines = sample.lines.iter().filter(|line| !line.trim().is_empty());
    let (mut all, mut logged, mut traced) = (0, 0, 0);
    let mut traces = TraceReader::default();
    for (number, line) in lines.enumerate() {
        all += 1;
        traced += usize::from(traces.line(number, line));
        logged += usize::from(timestamp::find(line).is_some() || timestamp::level(line).is_some());
    }
    all >= 3 && (logged * 2 >= all || (traces.count() > 0 && (logged + traced) * 4 >= all))
}

fn is_repetitive(sample: &TextSample<'_>) -> bool {
    let mut firsts = BoundedCounts::with_limit(400);
    let mut all = 0;
    for line in sample.lines.iter().filter(|line| !line.trim().is_empty()) {
        all += 1;
        firsts.add(line.split_whitespace().next().unwrap_or_default(), 1);
    }
    all >= 20 && firsts.most_frequent().iter().take(12).map(|(_, n)| n).sum::<usize>() * 10 >= all * 6
}

struct LineTemplate {
    times: usize,
    /// Distinct example lines with their numbers: one, or several for a failure.
    examples: Vec<(usize, String)>,
    places: Vec<TemplateSlot>,
    failure: Option<LineSeverity>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineSeverity {
    Error,
    Warning,
}

#[derive(Default)]
struct TemplateSlot {
    values: HashMap<String, usize>,
    more: bool,
    /// The largest measure: its number, its text, and the number and text of its line.
    largest: Option<(f64, String, usize, String)>,
}

fn sections(text: &str, query: &str, _: usize) -> Vec<DigestSection> {
    let (frequencies, lines) = WordFrequencies::from_text(text);
    let (mut stamps, mut traces, mut levels) =
        (TimestampRange::default(), TraceReader::default(), BoundedCounts::with_limit(16));
    let (mut firsts, mut forms) =
        (BoundedCounts::with_limit(MAX_TEMPLATES), HashMap::<String, LineTemplate>::new());
    let mut other_forms = 0;
    let mut last: Vec<(usize, &str)> = Vec::new();
    for (number, line) in numbered(text) {
        if line.trim().is_empty() {
            continue;
        }
        if last.len() == MAX_LAST_LINES {
            last.remove(0);
        }
        last.push((number, line));
        stamps.line(line);
        let level = timestamp::level(line);
        if let Some(level) = level {
            levels.add(level.to_owned(), 1);
        }
        if traces.line(number, line) {
            continue;
        }
        firsts.add(first_word(line), 1);
        let (form, changing) = frequencies.template(line);
        if forms.len() >= MAX_TEMPLATES && !forms.contains_key(&form) {
            other_forms += 1;
            continue;
        }
        forms.entry(form).or_insert_with(|| LineTemplate::new(level, line)).add(number, line, &changing);
    }
    let mut forms: Vec<(String, LineTemplate)> = forms.into_iter().collect();
    forms.sort_by(|(a, x), (b, y)| y.times.cmp(&x.times).then_with(|| a.cmp(b)));
    let (mut failures, rest): (Vec<_>, Vec<_>) =
        forms.into_iter().partition(|(_, form)| form.failure.is_some());
    failures.sort_by_key(|(_, form)| (form.failure, form.examples.first().map(|(number, _)| *number)));

    let mut findings = vec![format!("{lines} lines{}.", stamps.render())];
    if levels.len() > 0 {
        findings.push(format!("Lines by level: {}.", levels.render(8, String::clone)));
    }
    findings.extend(traces.finding());
    findings.extend(worst(&failures));
    findings.extend(stamps.busiest());
    findings.push(format!("Lines by first word: {}.", firsts.render(12, |word| shown(word, 40))));
    let told = |(key, form): &(String, LineTemplate)| form.render(key);
    let mut rest: Vec<String> = rest.iter().take(MAX_SHOWN_TEMPLATES).map(told).collect();
    if other_forms > 0 {
        rest.push(format!("{other_forms} lines of other templates"));
    }
    let failures = failures.iter().take(MAX_SHOWN_FAILURES).map(told).collect();
    let last =
        last.iter().map(|(number, line)| format!("{number}: {}", shown(line, MAX_SHOWN_CHARS))).collect();
    vec![
        DigestSection::with_lines(findings),
        DigestSection::query_matches(40, text, query),
        DigestSection::with_title("Exceptions:", 25, traces.render()),
        DigestSection::with_title("Failures (count × template, with lines):", 30, failures),
        DigestSection::with_title("Last lines:", 12, last),
        DigestSection::with_title("Line templates (count × template; … marks variable words):", 40, rest),
    ]
}

fn first_word(line: &str) -> String {
    let rest = timestamp::find(line).map_or(line, |stamp| stamp.rest);
    let mut words = rest.split_whitespace().map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    let word = words.find(|word| word.starts_with(char::is_alphabetic)).unwrap_or("…");
    word[..word.floor_char_boundary(60)].to_owned()
}

fn worst(failures: &[(String, LineTemplate)]) -> Option<String> {
    let (number, first) = failures.first()?.1.examples.first()?;
    let lines: usize = failures.iter().map(|(_, form)| form.times).sum();
    Some(format!("{lines} lines report failures; line {number}: {first}"))
}

/// Returns the severity of a line that reports a failure. Ignores words inside names and counts such as `0 failed`.
fn failure_severity(level: Option<&str>, line: &str) -> Option<LineSeverity> {
    match level {
        Some("warn") => return Some(LineSeverity::Warning),
        Some(level) if timestamp::is_failure(level) => return Some(LineSeverity::Error),
        _ => {}
    }
    let mut before = "";
    for word in line.split_whitespace().take(MAX_TEMPLATE_WORDS) {
        let plain = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let spoken = plain.bytes().all(|b| b.is_ascii_alphabetic()) && errors::error_at(plain) == Some(0);
        let option = word.starts_with('-') || before.starts_with('-');
        if spoken && !option && !matches!(before, "0" | "no" | "without") {
            return Some(LineSeverity::Error);
        }
        if plain.eq_ignore_ascii_case("warning") {
            return Some(LineSeverity::Warning);
        }
        before = word;
    }
    None
}

impl LineTemplate {
    fn new(level: Option<&str>, line: &str) -> Self {
        Self { times: 0, examples: Vec::new(), places: Vec::new(), failure: failure_severity(level, line) }
    }

    fn add(&mut self, number: usize, line: &str, changing: &[&str]) {
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

    /// `371 × http fetch GET … (200 ×371; max 338ms: line 77: …)`
    fn render(&self, form: &str) -> String {
        let examples = self.examples.iter().map(|(number, line)| format!("line {number}: {line}"));
        if self.times == 1 {
            return examples.collect();
        }
        let form = shown(form, MAX_SHOWN_CHARS);
        if self.failure.is_some() {
            return format!("{} × {form} | {}", self.times, examples.collect::<Vec<_>>().join(" | "));
        }
        let places: Vec<String> =
            self.places.iter().filter_map(|place| place.render(self.times)).take(3).collect();
        let places = if places.is_empty() { String::new() } else { format!(" ({})", places.join("; ")) };
        format!("{} × {form}{places}", self.times)
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

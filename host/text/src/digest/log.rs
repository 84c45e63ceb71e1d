//! Digests a log or the output of a command: its outcome ([`super::outcome`]), lines per level, time range, failures, line
//! templates ([`super::line_templates`]) and exceptions ([`super::trace`]).

use std::collections::HashMap;

use super::{
    fit::DigestSection,
    kind::{TextKind, TextSample},
    line_templates::{COUNTED_FAILURE, LineTemplate, WordFrequencies, line_with_number},
    lines::{BoundedCounts, numbered, shown},
    outcome::{self, OutcomeReader},
    severity,
    timestamp::{self, TimestampRange},
    trace::TraceReader,
};
use crate::layout::{is_code, is_manual};

/// Lines with timestamps, levels or stack traces.
pub(super) const KIND: TextKind = TextKind { name: "log", is, sections };

/// Any text whose lines share a few templates: package lists, build output, settings.
pub(super) const LINES: TextKind = TextKind { name: "lines", is: is_repetitive, sections };

const MAX_TEMPLATES: usize = 4_096;

const MAX_SHOWN_TEMPLATES: usize = 60;
const MAX_SHOWN_FAILURES: usize = 24;

const MAX_LAST_LINES: usize = 12;

/// Longer lines, and sentences with as many spaces, are prose.
const MAX_OUTPUT_LINE_BYTES: usize = 240;
const MIN_SENTENCE_SPACES: usize = 5;

/// Maximum lines of a template that can be outcomes, unless it has fewer words than this. More are steps.
const MAX_OUTCOMES: usize = 8;
const MIN_STEP_WORDS: usize = 2;

/// Outcome lines among the findings.
const MAX_OUTCOME_FINDINGS: usize = 2;

/// Lines at the end, one of which reports the outcome of a command.
const MAX_END_LINES: usize = 30;

/// Lines at the end, one of which is the verdict of a test run.
const MAX_VERDICT_LINES: usize = 3;

/// Output of a command, which ends with its outcome or with warnings.
pub(super) const OUTPUT: TextKind = TextKind { name: "output", is: is_output, sections };

fn is_output(sample: &TextSample<'_>) -> bool {
    let filled = |line: &&&str| !line.trim().is_empty();
    let mut end = sample.end.iter().rev().filter(filled).take(MAX_END_LINES);
    let is_failure = |line: &str| {
        timestamp::level(line).is_some_and(|level| level == "warn" || timestamp::is_failure(level))
    };
    if !end.any(|line| outcome::is_outcome(line) || is_failure(line)) {
        return false;
    }
    let is_heading = |line: &&&str| line.starts_with("# ") || line.starts_with("## ");
    let is_prose = |line: &&&str| {
        line.len() > MAX_OUTPUT_LINE_BYTES
            || (line.ends_with('.') && line.matches(' ').count() >= MIN_SENTENCE_SPACES)
    };
    let count = |is: &dyn Fn(&&&str) -> bool| sample.lines.iter().filter(|line| is(line)).count();
    let mut last = sample.end.iter().rev().filter(filled).take(MAX_VERDICT_LINES);
    // Reports of failed tests quote code.
    let ends_with_verdict = last.any(|line| outcome::is_verdict(line));
    count(&is_heading) < 2
        && count(&is_prose) * 3 <= count(&filled)
        && (ends_with_verdict || !is_code(sample.text))
        && !is_manual(sample.text)
}

fn is(sample: &TextSample<'_>) -> bool {
    let lines = sample.lines.iter().filter(|line| !line.trim().is_empty());
    let (mut total, mut logged, mut traced) = (0, 0, 0);
    let mut traces = TraceReader::default();
    for (number, line) in lines.enumerate() {
        total += 1;
        traced += usize::from(traces.line(number, line));
        logged += usize::from(timestamp::find(line).is_some() || timestamp::level(line).is_some());
    }
    total >= 3 && (logged * 2 >= total || (traces.count() > 0 && (logged + traced) * 4 >= total))
}

fn is_repetitive(sample: &TextSample<'_>) -> bool {
    let mut firsts = BoundedCounts::<_, 400>::default();
    let mut total = 0;
    for line in sample.lines.iter().filter(|line| !line.trim().is_empty()) {
        total += 1;
        let first = line.split_whitespace().next().unwrap_or_default();
        firsts.add(first.split('=').next().unwrap_or_default(), 1);
    }
    total >= 20
        && !is_manual(sample.text)
        && firsts.most_frequent().iter().take(12).map(|(_, n)| n).sum::<usize>() * 10 >= total * 6
}

fn sections(text: &str, query: &str, _: usize) -> Vec<DigestSection> {
    let (frequencies, lines) = WordFrequencies::from_text(text);
    let (mut stamps, mut traces) = (TimestampRange::default(), TraceReader::default());
    let mut levels = BoundedCounts::<_, 16>::default();
    let mut firsts = BoundedCounts::<_, MAX_TEMPLATES>::default();
    let mut forms = HashMap::<String, LineTemplate>::new();
    let mut other_forms = 0;
    let mut failed: Option<String> = None;
    let mut outcomes = OutcomeReader::default();
    for (number, line) in numbered(text) {
        if line.trim().is_empty() {
            continue;
        }
        outcomes.line(number, line);
        stamps.line(line);
        let level = timestamp::level(line);
        if let Some(level) = level {
            levels.add(level.to_owned(), 1);
        }
        if traces.line(number, line) {
            continue;
        }
        firsts.add(first_word(line), 1);
        let (mut form, changing) = frequencies.template(line);
        // `failed=1` is a failure among lines of one template that have `failed=0`.
        if severity::counts_failures(line) {
            form.insert_str(0, COUNTED_FAILURE);
        }
        let is_step = |template: &LineTemplate| template.times > MAX_OUTCOMES;
        if form.matches(' ').count() < MIN_STEP_WORDS || !forms.get(&form).is_some_and(is_step) {
            outcomes.candidate(number, line);
        }
        if forms.len() >= MAX_TEMPLATES && !forms.contains_key(&form) {
            other_forms += 1;
            continue;
        }
        // Compilers write the place of an error on the next line.
        if let Some(failure) = failed.take().and_then(|form| forms.get_mut(&form))
            && line.trim_start().starts_with("-->")
        {
            failure.add_place(number, line);
        }
        let template = forms.entry(form.clone()).or_insert_with(|| LineTemplate::new(level, line));
        template.add(number, line, &changing);
        failed = template.reports_failure().then_some(form);
    }
    let mut forms: Vec<(String, LineTemplate)> = forms.into_iter().collect();
    forms.sort_by(|(a, x), (b, y)| y.times.cmp(&x.times).then_with(|| a.cmp(b)));
    let (mut failures, rest): (Vec<_>, Vec<_>) =
        forms.into_iter().partition(|(_, form)| form.reports_failure());
    failures.sort_by_key(|(_, form)| (form.failure, form.examples.first().map(|(number, _)| *number)));

    let ends = outcomes.outcomes();
    let mut findings: Vec<String> = ends.iter().take(MAX_OUTCOME_FINDINGS).map(line_with_number).collect();
    findings.push(format!("{lines} lines{}.", stamps.render()));
    if levels.len() > 0 {
        findings.push(format!("Lines by level: {}.", levels.render(8, String::clone)));
    }
    findings.extend(traces.finding());
    findings.extend(worst(&failures));
    findings.extend(stamps.busiest());
    findings.push(format!("Lines by first word: {}.", firsts.render(12, |word| shown(word, 40))));
    let last = outcomes.last_lines(MAX_LAST_LINES);
    let is_shown = |(_, form): &&(String, LineTemplate)| {
        let seen = |number| ends.iter().chain(&last).any(|(seen, _)| *seen == number);
        form.times == 1 && form.examples.first().is_some_and(|(number, _)| seen(*number))
    };
    let failures = failures.iter().filter(|form| !is_shown(form)).take(MAX_SHOWN_FAILURES);
    let failures = failures.flat_map(|(key, form)| form.failures(key)).collect();
    let rest = rest.iter().filter(|form| !is_shown(form)).take(MAX_SHOWN_TEMPLATES);
    let mut rest: Vec<String> = rest.map(|(key, form)| form.render(key)).collect();
    if other_forms > 0 {
        rest.push(format!("{other_forms} lines of other templates"));
    }
    let ends = ends.iter().skip(MAX_OUTCOME_FINDINGS).map(line_with_number).collect();
    let last = last.iter().map(|(number, line)| format!("{number}: {line}")).collect();
    vec![
        DigestSection::with_lines(findings),
        DigestSection::query_matches(40, text, query),
        DigestSection::with_title("Outcome:", 15, ends),
        DigestSection::with_title("Last lines:", 20, last),
        DigestSection::with_title("Exceptions:", 25, traces.render()),
        DigestSection::with_title("Failures (count × template, with lines):", 30, failures),
        DigestSection::with_title("Line templates (count × template; … marks variable words):", 40, rest),
    ]
}

fn first_word(line: &str) -> String {
    let rest = timestamp::without_timestamp(line);
    let mut words = rest.split_whitespace().map(|word| word.trim_matches(|c: char| c.is_ascii_punctuation()));
    let word = words.find(|word| word.starts_with(char::is_alphabetic)).unwrap_or("…");
    let word = word.split('=').next().unwrap_or(word);
    word[..word.floor_char_boundary(60)].to_owned()
}

fn worst(failures: &[(String, LineTemplate)]) -> Option<String> {
    let (number, first) = failures.first()?.1.examples.first()?;
    let lines: usize = failures.iter().map(|(_, form)| form.times).sum();
    let have = if lines == 1 { "line has" } else { "lines have" };
    Some(format!("{lines} {have} a word or level of failure; line {number}: {first}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_after_very_many_templates_is_found() {
        let letter = |n: usize| char::from_u32('一' as u32 + n as u32).unwrap_or_default();
        let many: String =
            (0..70 * 70).map(|n| format!("a{} b{}\n", letter(n / 70), letter(n % 70))).collect();
        let text = format!("{many}1 failed, 204 passed in 48.31s\n{}", "bye\n".repeat(200));
        let sections = sections(&text, "", 1_000);
        assert!(
            sections
                .iter()
                .any(|section| section.lines.iter().any(|line| line.ends_with("of other templates")))
        );
        assert_eq!(sections[0].lines[0], "line 4901: 1 failed, 204 passed in 48.31s");
    }
}

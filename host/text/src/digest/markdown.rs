//! Digests text by the sentences that summarize it or answer the query, with an outline if it has headings.

use gatehouse_core::ports::TextCompressor as _;

use super::{
    fit::DigestSection,
    kind::{TextKind, TextSample},
    lines::{MAX_SHOWN_CHARS, join, matching, shown},
    value::quoted,
};
use crate::{
    Extractor, extract,
    layout::{TextLayout, is_code},
    tokens,
};

pub(super) const KIND: TextKind = TextKind { name: "Markdown", is, sections };

const MIN_HEADINGS: usize = 2;

/// Percentage of the budget for headings, and tokens reserved for titles and inserted findings.
const HEADINGS_PERCENT: usize = 40;
const OVERHEAD_TOKENS: usize = 60;

const MAX_HEADINGS: usize = 160;

/// Maximum bytes from which sentences are extracted, without and with a query. Ranking more takes too long.
const MAX_RANKED_BYTES: [usize; 2] = [128 << 10, 1 << 20];

fn is(sample: &TextSample<'_>) -> bool {
    let text = sample.lines.join("\n");
    !is_code(&text)
        && !lists_elements(&sample.lines)
        && !has_comments(&sample.lines)
        && TextLayout::from_text(&text).headings.len() >= MIN_HEADINGS
}

/// Whether nearly all lines begin with a setting, as in the snapshot of a page: `uid=1_5 link "Home"`.
fn lists_elements(lines: &[&str]) -> bool {
    let filled = || lines.iter().filter(|line| !line.trim().is_empty());
    let is_element = |line: &&&str| line.split_whitespace().next().is_some_and(|word| word.contains('='));
    filled().filter(is_element).count() * 10 >= filled().count().max(1) * 8
}

/// Whether most lines after `#` are comments of a settings file: they follow each other, as titles do not.
fn has_comments(lines: &[&str]) -> bool {
    let mut is_fenced = false;
    let outside = |line: &&&str| {
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_fenced ^= is_fence;
        !is_fenced && !is_fence
    };
    let lines: Vec<&str> = lines.iter().filter(outside).copied().collect();
    let is_comment = |line: &str| line == "#" || line.starts_with("# ");
    let next_to_one = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| lines.get(at));
        before.into_iter().chain(lines.get(at + 1)).any(|line| is_comment(line))
    };
    let places = || lines.iter().enumerate().filter(|(_, line)| is_comment(line));
    let comments = places().filter(|(at, _)| next_to_one(*at)).count();
    comments > 1 && comments * 2 >= places().count()
}

fn sections(text: &str, query: &str, budget: usize) -> Vec<DigestSection> {
    outline_sections(text, query, budget, None)
}

/// Line of the document for a line of its text.
pub(super) type DocumentLine<'a> = &'a dyn Fn(usize) -> usize;

/// Returns the sections. `line_of` is `None` if the text is the document itself.
pub(super) fn outline_sections(
    text: &str,
    query: &str,
    budget: usize,
    line_of: Option<DocumentLine<'_>>,
) -> Vec<DigestSection> {
    let layout = TextLayout::from_text(text);
    let mut levels = std::collections::BTreeMap::<usize, usize>::new();
    layout.headings.iter().for_each(|heading| *levels.entry(heading.level).or_default() += 1);
    let lines = text.lines().count();
    let words = text.split_whitespace().count();
    let count = layout.headings.len();
    let levels = join(levels.iter().map(|(level, n)| format!("{n} of level {level}")), ", ");
    // Lines of a text that was made from the document are not those of the document.
    let lines = if line_of.is_none() { format!("{lines} lines, ") } else { String::new() };
    let mut findings = vec![format!("The text has {lines}{words} words and {count} headings: {levels}.")];
    let mut at = 0;
    let mut line = 1;
    let mut named = Vec::new();
    for heading in &layout.headings {
        line += text[at..heading.start].bytes().filter(|b| *b == b'\n').count();
        at = heading.start;
        let depth = layout.path(heading.parent).count();
        named.push((depth, line, shown(name(&text[heading.start..heading.end]), MAX_SHOWN_CHARS)));
    }
    if let Some((.., first)) = named.iter().min_by_key(|(depth, line, _)| (*depth, *line)) {
        findings.push(format!("Its first heading is: {first}."));
    }
    let deepest = (0..8)
        .rev()
        .find(|deepest| named.iter().filter(|(depth, ..)| depth <= deepest).count() <= MAX_HEADINGS);
    let mut headings: Vec<String> = named
        .iter()
        .filter(|(depth, ..)| deepest.is_none_or(|deepest| *depth <= deepest))
        .map(|(depth, line, name)| {
            let line = line_of.map_or(*line, |line_of| line_of(*line));
            format!("{}{name} ({line})", "  ".repeat((*depth).min(4)))
        })
        .collect();
    headings.truncate(MAX_HEADINGS);
    // Reserve the exact tokens for the sentences, because the section is included whole or not at all.
    let cost = |line: &String| tokens::count(line) + 2;
    let heading_tokens = headings.iter().map(cost).sum::<usize>().min(budget * HEADINGS_PERCENT / 100);
    let around = findings.iter().map(cost).sum::<usize>() + OVERHEAD_TOKENS;
    let mut extracts = extracted(text, query, budget.saturating_sub(heading_tokens + around).max(64));
    if let Some(line_of) = line_of {
        extracts.iter_mut().for_each(|text| *text = extract::with_lines(text, line_of));
    }
    vec![
        DigestSection::with_lines(findings),
        DigestSection::with_title("Headings (with lines):", HEADINGS_PERCENT, headings),
        DigestSection::with_title("Text:", 95, extracts),
    ]
}

fn extracted(text: &str, query: &str, tokens: usize) -> Vec<String> {
    let tokens = u32::try_from(tokens).unwrap_or(u32::MAX);
    let result = Extractor.extract(ranked_beginning(text, query), query, tokens);
    result.into_iter().map(|extract| extract.text).collect()
}

fn ranked_beginning<'a>(text: &'a str, query: &str) -> &'a str {
    &text[..text.floor_char_boundary(MAX_RANKED_BYTES[usize::from(!query.is_empty())])]
}

/// Returns a heading without markup. Of two lines, takes the one with letters.
fn name(heading: &str) -> &str {
    let line = heading.lines().find(|line| line.contains(char::is_alphanumeric)).unwrap_or(heading);
    line.trim().trim_matches(['#', '=']).trim()
}

/// Text of any other kind, by its sentences.
pub(super) const PROSE: TextKind = TextKind { name: "text", is: |_| true, sections: prose_sections };

const PROSE_OVERHEAD_TOKENS: usize = 48;

const MAX_FIRST_LINE_CHARS: usize = 120;

fn prose_sections(text: &str, query: &str, budget: usize) -> Vec<DigestSection> {
    let lines = text.lines().count();
    let words = text.split_whitespace().count();
    let mut findings = vec![format!("The text has {lines} lines and {words} words.")];
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    findings.extend(first.map(|line| format!("It begins with {}.", quoted(line, MAX_FIRST_LINE_CHARS))));
    let extracts = extracted(text, query, budget.saturating_sub(2 * PROSE_OVERHEAD_TOKENS));
    // Sentences come only from the start of a long text; search the rest by words.
    let behind = ranked_beginning(text, query).len() < text.len();
    let matches = if behind { matching(text, query) } else { Vec::new() };
    vec![
        DigestSection::with_lines(findings),
        DigestSection::with_title("Lines that match the query:", 30, matches),
        DigestSection::with_title("Text:", 90, extracts),
    ]
}

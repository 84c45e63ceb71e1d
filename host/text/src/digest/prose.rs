//! Tells a text that is nothing else by its sentences.

use gatehouse_core::ports::TextCompressor as _;

use super::{fit::Section, kind::TextKind, lines::matching, markdown, value::quoted};
use crate::Extractor;

/// Whatever is text.
pub(super) const KIND: TextKind = TextKind { name: "text", is: |_| true, sections };

/// What findings and titles take of the budget, in tokens.
const AROUND: usize = 48;

/// Characters of the first line that are shown.
const SHOWN: usize = 120;

fn sections(text: &str, query: &str, budget: usize) -> Vec<Section> {
    let lines = text.lines().count();
    let words = text.split_whitespace().count();
    let mut findings = vec![format!("The text has {lines} lines and {words} words.")];
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    findings.extend(first.map(|line| format!("It begins with {}.", quoted(line, SHOWN))));
    let left = u32::try_from(budget.saturating_sub(2 * AROUND)).unwrap_or(u32::MAX);
    let kept = Extractor
        .extract(markdown::read(text, query), query, left)
        .map(|extract| vec![extract.text])
        .unwrap_or_default();
    // What stands behind the part that sentences are taken of is found by its words.
    let behind = markdown::read(text, query).len() < text.len();
    let matches = if behind { matching(text, query) } else { Vec::new() };
    vec![
        Section::list(findings),
        Section::titled("Lines that match the query:", 30, matches),
        Section::titled("Text:", 90, kept),
    ]
}

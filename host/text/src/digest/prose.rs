//! Digests text of any other kind by its sentences.

use gatehouse_core::ports::TextCompressor as _;

use super::{fit::DigestSection, kind::TextKind, lines::matching, markdown, value::quoted};
use crate::Extractor;

pub(super) const KIND: TextKind = TextKind { name: "text", is: |_| true, sections };

const OVERHEAD_TOKENS: usize = 48;

const MAX_FIRST_LINE_CHARS: usize = 120;

fn sections(text: &str, query: &str, budget: usize) -> Vec<DigestSection> {
    let lines = text.lines().count();
    let words = text.split_whitespace().count();
    let mut findings = vec![format!("The text has {lines} lines and {words} words.")];
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    findings.extend(first.map(|line| format!("It begins with {}.", quoted(line, MAX_FIRST_LINE_CHARS))));
    let left = u32::try_from(budget.saturating_sub(2 * OVERHEAD_TOKENS)).unwrap_or(u32::MAX);
    let kept = Extractor
        .extract(markdown::ranked_beginning(text, query), query, left)
        .map(|extract| vec![extract.text])
        .unwrap_or_default();
    // Sentences come only from the start of a long text; search the rest by words.
    let behind = markdown::ranked_beginning(text, query).len() < text.len();
    let matches = if behind { matching(text, query) } else { Vec::new() };
    vec![
        DigestSection::with_lines(findings),
        DigestSection::with_title("Lines that match the query:", 30, matches),
        DigestSection::with_title("Text:", 90, kept),
    ]
}

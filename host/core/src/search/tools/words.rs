//! How much of a question the words of each tool hold.

use std::collections::HashSet;

use super::{
    rank::ToolSegments,
    segment::{IndexedTool, Posting},
};
use crate::search::{RowSet, for_each_term};

/// How soon more of the same word counts no more, and how much the length of a tool counts: the usual values of BM25
/// (Robertson and Zaragoza 2009), which SQLite's index has too.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Different terms of a question that are looked for.
const MAX_TERMS: usize = 64;

/// BM25 of a question among the tools that may be found.
pub(super) struct WordScores {
    /// Of each tool, by its number; 0 for those that may not be found.
    pub(super) scores: Vec<f64>,
    /// The best that any tool has.
    pub(super) best: f64,
    /// What a tool would have that holds each term of the question often: words that no tool has count most.
    pub(super) most: f64,
    /// Words that no tool has.
    pub(super) unmatched: Vec<String>,
}

/// How many tools may be found, and the length of each as a share of the usual one.
pub(super) struct ToolLengths {
    pub(super) count: f64,
    relative: Vec<f64>,
}

impl ToolLengths {
    pub(super) fn new(tools: &[&IndexedTool], allowed: &RowSet) -> Self {
        let found = tools.iter().enumerate().filter(|(number, _)| allowed.contains(*number));
        let (count, sum) = found.fold((0.0, 0.0), |(count, sum), (_, tool)| (count + 1.0, sum + tool.length));
        let usual = if sum > 0.0 { f64::from(sum) / count } else { 1.0 };
        Self { count, relative: tools.iter().map(|tool| f64::from(tool.length) / usual).collect() }
    }
}

impl WordScores {
    pub(super) fn new(
        tools: &ToolSegments<'_>,
        question: &str,
        allowed: &RowSet,
        lengths: &ToolLengths,
    ) -> Self {
        let mut scores = vec![0.0; lengths.relative.len()];
        let (mut most, mut unmatched) = (0.0, Vec::new());
        for word in words(question) {
            let mut matched = word.terms.is_empty();
            for term in &word.terms {
                let found: Vec<(usize, f64)> = postings(tools, term, allowed).collect();
                matched |= !found.is_empty();
                let held = found.len() as f64;
                let rare = (1.0 + (lengths.count - held + 0.5) / (held + 0.5)).ln();
                most += rare * (K1 + 1.0);
                for (tool, weight) in found {
                    let long = 1.0 - B + B * lengths.relative[tool];
                    scores[tool] += rare * weight * (K1 + 1.0) / (weight + K1 * long);
                }
            }
            if !matched {
                unmatched.push(word.written);
            }
        }
        let best = scores.iter().copied().fold(0.0, f64::max);
        Self { scores, best, most, unmatched }
    }
}

/// The tools that have a term and may be found, with what it counts there.
fn postings<'a>(
    tools: &ToolSegments<'a>,
    term: &str,
    allowed: &RowSet,
) -> impl Iterator<Item = (usize, f64)> {
    let mut first = 0;
    let of_each = tools.segments().iter().flat_map(move |segment| {
        let begins = first;
        first += segment.tools().len();
        let of_tool = move |Posting { tool, weight }: &Posting| (begins + *tool as usize, f64::from(*weight));
        segment.postings(term).iter().map(of_tool)
    });
    of_each.filter(|(tool, _)| allowed.contains(*tool))
}

/// A word of a question.
struct QueryWord {
    written: String,
    /// As the index has it, without those of the words before.
    terms: Vec<String>,
}

/// The words of a question, [`MAX_TERMS`] terms at most. Common words have no terms.
fn words(question: &str) -> Vec<QueryWord> {
    let mut seen = HashSet::new();
    let mut words = Vec::new();
    for written in question.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let mut terms = Vec::new();
        for_each_term(written, |term| {
            if seen.len() < MAX_TERMS && seen.insert(term.to_owned()) {
                terms.push(term.to_owned());
            }
        });
        words.push(QueryWord { written: written.chars().take(MAX_TERMS).collect(), terms });
        if seen.len() == MAX_TERMS {
            break;
        }
    }
    words
}

//! BM25 scores of tools for a question.

use std::collections::HashSet;

use super::{
    rank::ToolSegments,
    segment::{IndexedTool, Posting},
};
use crate::search::{RowSet, for_each_term, terms::truncate_word};

/// The usual BM25 parameters (Robertson and Zaragoza 2009), which SQLite uses too.
const K1: f64 = 1.2;
const B: f64 = 0.75;

const MAX_TERMS: usize = 64;

pub(super) struct WordScores {
    /// By tool number; 0 for tools that are not allowed.
    pub(super) scores: Vec<f64>,
    pub(super) best: f64,
    /// Score of a tool that contains every term often. Words that no tool contains weigh most.
    pub(super) max_possible: f64,
    pub(super) unmatched: Vec<String>,
}

/// Number of allowed tools, and each tool's length relative to the average.
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
        let (mut max_possible, mut unmatched) = (0.0, Vec::new());
        for word in words(question) {
            let mut matched = word.terms.is_empty();
            for term in &word.terms {
                let found: Vec<(usize, f64)> = postings(tools, term, allowed).collect();
                matched |= !found.is_empty();
                let containing = found.len() as f64;
                let rare = (1.0 + (lengths.count - containing + 0.5) / (containing + 0.5)).ln();
                max_possible += rare * (K1 + 1.0);
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
        Self { scores, best, max_possible, unmatched }
    }
}

/// Yields the allowed tools that contain a term, with its weight there.
fn postings<'a>(
    tools: &ToolSegments<'a>,
    term: &str,
    allowed: &RowSet,
) -> impl Iterator<Item = (usize, f64)> {
    let mut first = 0;
    let all = tools.segments().iter().flat_map(move |segment| {
        let begins = first;
        first += segment.tools().len();
        let numbered =
            move |Posting { tool, weight }: &Posting| (begins + *tool as usize, f64::from(*weight));
        segment.postings(term).iter().map(numbered)
    });
    all.filter(|(tool, _)| allowed.contains(*tool))
}

struct QueryWord {
    written: String,
    /// Terms that earlier words do not have.
    terms: Vec<String>,
}

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
        words.push(QueryWord { written: truncate_word(written), terms });
        if seen.len() == MAX_TERMS {
            break;
        }
    }
    words
}

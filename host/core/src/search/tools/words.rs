//! BM25 scores of tools for a part of a question.

use std::collections::HashSet;

use super::{
    lexicon::folded,
    parts::{QueryPart, QueryPartKind},
    rank::ToolSegments,
    segment::{IndexedTool, Posting, ToolSegment},
};
use crate::{
    names::split_identifier,
    search::{
        RowSet, for_each_term, script,
        terms::{MAX_TERMS, truncate_word},
    },
};

/// The usual BM25 parameters (Robertson and Zaragoza 2009), which SQLite uses too.
const K1: f64 = 1.2;
const B: f64 = 0.75;

pub(super) struct WordScores {
    words: Vec<QueryWord>,
    /// By tool number; 0 for tools that are not allowed.
    pub(super) scores: Vec<f64>,
    pub(super) best: f64,
    pub(super) unmatched: Vec<String>,
}

/// Number of allowed tools, and each tool's length relative to the average.
pub(super) struct ToolLengths {
    pub(super) count: f64,
    relative: Vec<f64>,
}

/// Returns the inverse document frequency of a term (Robertson and Zaragoza 2009).
fn inverse_frequency(tools: f64, containing: f64) -> f64 {
    (1.0 + (tools - containing + 0.5) / (containing + 0.5)).ln()
}

impl ToolLengths {
    pub(super) fn new(tools: &[&IndexedTool], allowed: &RowSet) -> Self {
        let allowed_tools = tools.iter().enumerate().filter(|(number, _)| allowed.contains(*number));
        let (count, sum) =
            allowed_tools.fold((0.0, 0.0), |(count, sum), (_, tool)| (count + 1.0, sum + tool.length));
        let usual = if sum > 0.0 { f64::from(sum) / count } else { 1.0 };
        Self { count, relative: tools.iter().map(|tool| f64::from(tool.length) / usual).collect() }
    }
}

impl WordScores {
    pub(super) fn new(
        tools: &ToolSegments<'_>,
        part: &QueryPart<'_>,
        allowed: &RowSet,
        lengths: &ToolLengths,
    ) -> Self {
        let mut scores = vec![0.0; lengths.relative.len()];
        let mut unmatched = Vec::new();
        let mut words = words(part);
        for word in &mut words {
            let mut matched = word.terms.is_empty();
            for term in &mut word.terms {
                let tool_weights: Vec<(usize, f64)> = postings(tools, &term.text, allowed).collect();
                term.known = !tool_weights.is_empty();
                matched |= term.known;
                let containing = tool_weights.len() as f64;
                term.rarity = inverse_frequency(lengths.count, containing);
                for (tool, weight) in tool_weights {
                    let long = 1.0 - B + B * lengths.relative[tool];
                    scores[tool] += term.rarity * weight * (K1 + 1.0) / (weight + K1 * long);
                }
            }
            if !matched {
                unmatched.push(word.written.clone());
            }
        }
        let best = scores.iter().copied().fold(0.0, f64::max);
        Self { words, scores, best, unmatched }
    }

    /// Returns the rarity of the question's words that a tool of this segment has, and its share of that of all words.
    pub(super) fn rarity_held(&self, segment: &ToolSegment, tool: usize) -> (f64, f64) {
        let has = |term: &QueryTerm| term.known && segment.has_term(&term.text, tool);
        let held: f64 = self.words.iter().map(|word| word.rarity_covered(&has)).sum();
        (held, if held > 0.0 { held / self.words.iter().map(QueryWord::rarity).sum::<f64>() } else { 0.0 })
    }

    /// Returns whether this gloss has a word of the question that no tool has.
    pub(super) fn lacks(&self, word: &str) -> bool {
        let word = folded(word);
        self.unmatched.iter().any(|entry| *entry == word)
    }

    /// Returns the number of words in the question. Scripts without spaces count a word for each two characters.
    fn word_count(&self) -> f64 {
        self.words.iter().map(QueryWord::size).sum()
    }

    /// Returns whether most of the question is in a script without spaces.
    pub(super) fn is_spaceless(&self) -> bool {
        let spaceless = self.words.iter().filter(|word| word.kind == WordKind::Bigrams);
        2.0 * spaceless.map(QueryWord::size).sum::<f64>() > self.word_count()
    }

    /// Returns the share of the question's words that any tool has.
    pub(super) fn known(&self) -> f64 {
        self.share(|term| term.known)
    }

    /// Returns the share of the question's words that are covered by the terms that `has` accepts.
    fn share(&self, has: impl Fn(&QueryTerm) -> bool) -> f64 {
        let held: f64 = self.words.iter().map(|word| word.size() * word.covered(&has)).sum();
        if held > 0.0 { held / self.word_count() } else { 0.0 }
    }

    /// Returns the share of a name's words that the question has.
    pub(super) fn name_cover(&self, name: &str) -> f64 {
        let (mut all, mut held) = (0.0, 0.0);
        for_each_term(&split_identifier(name), |part| {
            all += 1.0;
            held += f64::from(u8::from(
                self.words.iter().any(|word| word.terms.iter().any(|term| term.text == part)),
            ));
        });
        if held > 0.0 { held / all } else { 0.0 }
    }
}

/// Yields the allowed tools that contain a term, with its weight there.
fn postings<'a>(
    tools: &ToolSegments<'a>,
    term: &str,
    allowed: &RowSet,
) -> impl Iterator<Item = (usize, f64)> {
    let mut first = 0;
    let postings = tools.segments().iter().flat_map(move |segment| {
        let begins = first;
        first += segment.tools().len();
        let numbered =
            move |Posting { tool, weight }: &Posting| (begins + *tool as usize, f64::from(*weight));
        segment.postings(term).iter().map(numbered)
    });
    postings.filter(|(tool, _)| allowed.contains(*tool))
}

struct QueryWord {
    written: String,
    /// Terms that earlier words do not have.
    terms: Vec<QueryTerm>,
    kind: WordKind,
}

#[derive(Clone, Copy, PartialEq)]
enum WordKind {
    /// Indexed as it is, and in its parts.
    Whole,
    /// Indexed as trigrams. A word with two thirds of them is another form of it.
    Trigrams,
    /// Several words without spaces, indexed as bigrams. About half of the bigrams are words.
    Bigrams,
}

struct QueryTerm {
    text: String,
    /// True if any allowed tool has it.
    known: bool,
    /// Inverse document frequency among the allowed tools.
    rarity: f64,
}

impl QueryWord {
    fn size(&self) -> f64 {
        match self.kind {
            _ if self.terms.is_empty() => 0.0,
            WordKind::Bigrams => (self.terms.len() as f64 / 2.0).max(1.0),
            WordKind::Whole | WordKind::Trigrams => 1.0,
        }
    }

    /// Returns the inverse document frequency of the word: that of its most frequent term, or of all its bigrams.
    fn rarity(&self) -> f64 {
        let rarities = self.terms.iter().map(|term| term.rarity);
        match self.kind {
            WordKind::Bigrams => rarities.sum::<f64>() / 2.0,
            WordKind::Whole | WordKind::Trigrams => rarities.reduce(f64::min).unwrap_or(0.0),
        }
    }

    /// Returns the rarity of the part that the accepted terms cover.
    fn rarity_covered(&self, has: &impl Fn(&QueryTerm) -> bool) -> f64 {
        match self.kind {
            WordKind::Bigrams => {
                self.terms.iter().filter(|term| has(term)).map(|term| term.rarity).sum::<f64>() / 2.0
            }
            WordKind::Whole | WordKind::Trigrams => self.rarity() * self.covered(has),
        }
    }

    /// Returns the share of the word that the accepted terms cover.
    fn covered(&self, has: &impl Fn(&QueryTerm) -> bool) -> f64 {
        let accepted = self.terms.iter().filter(|term| has(term)).count();
        match self.kind {
            WordKind::Whole => f64::from(u8::from(accepted > 0)),
            WordKind::Trigrams => f64::from(u8::from(accepted > 0 && 3 * accepted >= 2 * self.terms.len())),
            WordKind::Bigrams => (accepted as f64 / self.size()).min(1.0),
        }
    }
}

fn words(part: &QueryPart<'_>) -> Vec<QueryWord> {
    let mut seen = HashSet::new();
    let mut words = Vec::new();
    // The terms of a word with alternatives are those of all of them.
    let ends = |c: char| match part.kind {
        QueryPartKind::Gloss => c == ' ',
        QueryPartKind::Question | QueryPartKind::Sentence => !c.is_alphanumeric(),
    };
    for written in part.text.split(ends).filter(|word| !word.is_empty()) {
        let mut terms = Vec::new();
        for_each_term(written, |term| {
            if seen.len() < MAX_TERMS && seen.insert(term.to_owned()) {
                terms.push(QueryTerm { text: term.to_owned(), known: false, rarity: 0.0 });
            }
        });
        let kind = match written {
            _ if script::has_spaceless(written) => WordKind::Bigrams,
            _ if script::has_other(written) => WordKind::Trigrams,
            _ => WordKind::Whole,
        };
        words.push(QueryWord { written: truncate_word(written), terms, kind });
        if seen.len() == MAX_TERMS {
            break;
        }
    }
    words
}

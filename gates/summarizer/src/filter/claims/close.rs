//! Sentences in a model's own words. Each clause must be about one paragraph or record: its names and numbers are in
//! there, next to each other, and so are more than three of four words. Words that change a meaning must be the result's own:
//! verbs, outcomes, negations and quantifiers.

use super::{Passage, clauses, content_words, is_claim, is_number, is_same, split_clauses, words};
use crate::filter::{
    claim_words::{LIMITS, OUTCOMES, PLAIN, VERBS},
    wording::listed,
};

/// Maximum bytes of a paragraph of several lines. A longer one joins words about different things.
const MAX_PARAGRAPH: usize = 2_000;

const MAX_PARAGRAPHS: usize = 5_000;

/// Maximum distance in content words between a number and a word that it belongs to.
pub(super) const MAX_DISTANCE: usize = 3;

/// Splits prose into the sentences of its paragraphs. Headings and items of lists are paragraphs of their own.
pub(super) fn paragraphs(text: &str) -> Vec<Vec<Passage>> {
    let mut blocks = vec![String::new()];
    for line in text.lines().map(str::trim) {
        let is_item = line.starts_with(['#', '|', '>', '<'])
            || line.split_once(' ').is_some_and(|(mark, _)| {
                matches!(mark, "-" | "*" | "+") || mark.trim_end_matches(['.', ')']).parse::<u32>().is_ok()
            });
        let is_full = blocks.last().is_some_and(|block| block.len() + line.len() > MAX_PARAGRAPH);
        if line.is_empty() || is_item || is_full {
            blocks.push(String::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push_str(line);
            block.push(' ');
        }
    }
    let blocks = blocks.into_iter().filter(|block| !block.trim().is_empty());
    let paragraph = |block: String| {
        let mut sentences = Vec::new();
        clauses(&block, &mut sentences);
        sentences
    };
    blocks.take(MAX_PARAGRAPHS).map(paragraph).collect()
}

/// The clauses of a model's sentence, and the names in it.
pub(super) struct SentenceClauses {
    clauses: Vec<Vec<String>>,
    names: Vec<String>,
}

impl SentenceClauses {
    pub(super) fn new(sentence: &str) -> Self {
        let mut clauses = Vec::new();
        let joints = ["; ", ", and ", ", but ", ", while ", ", which ", ": "];
        split_clauses(sentence, &joints, &mut |clause| clauses.push(content_words(clause)));
        clauses.retain(|clause| !clause.is_empty());
        Self { clauses, names: names(sentence) }
    }

    /// Whether every clause is close to these passages. A number is at most `distance` words from what it counts.
    pub(super) fn are_close(&self, passages: &[Passage], distance: usize) -> bool {
        self.clauses.iter().all(|clause| is_clause_close(passages, clause, &self.names, distance))
    }
}

fn is_clause_close(passages: &[Passage], clause: &[String], names: &[String], distance: usize) -> bool {
    let has = |word: &String| {
        passages.iter().any(|passage| passage.0.iter().any(|passage_word| is_same(passage_word, word)))
    };
    let (present, missing): (Vec<&String>, Vec<&String>) = clause.iter().partition(|word| has(word));
    let is_needed =
        |word: &String| is_number(word) || is_claim(word) || names.contains(word) || changes_meaning(word);
    if present.len() < 2 || missing.len() * 3 >= present.len() || missing.iter().any(|word| is_needed(word)) {
        return false;
    }
    // The sentence with a number is about what the clause says of it.
    let is_about = |passage: &Passage| {
        let words = || present.iter().filter(|word| !is_number(word));
        words().filter(|word| passage.0.iter().any(|passage_word| is_same(passage_word, word))).count() * 2
            >= words().count()
    };
    let mut counted = counted_words(clause);
    if !counted.all(|(number, counted)| {
        passages.iter().any(|passage| passage.counts(number, counted, distance) && is_about(passage))
    }) {
        return false;
    }
    // The sentence of the result with most of these words must say what the clause counts, and must not deny or limit it.
    let shared = |passage: &&Passage| {
        present.iter().filter(|word| passage.0.iter().any(|passage_word| is_same(passage_word, word))).count()
    };
    let Some(nearest) = passages.iter().max_by_key(shared) else { return false };
    let mut claims = clause.iter().filter(|word| is_claim(word));
    let mut limits = nearest.0.iter().filter(|word| listed(LIMITS, word));
    claims.all(|claim| nearest.0.contains(claim)) && limits.all(|limit| clause.contains(limit))
}

/// Returns each number with what it counts: the next number, as in `11 of 18`, else the next word, else the one before.
fn counted_words(words: &[String]) -> impl Iterator<Item = (&String, &String)> {
    let numbers = words.iter().enumerate().filter(|(_, word)| is_number(word));
    numbers.filter_map(|(at, number)| {
        let before = || words.get(at.checked_sub(1)?).filter(|word| !is_number(word));
        Some((number, words.get(at + 1).or_else(before)?))
    })
}

impl Passage {
    /// Whether a number is at most `distance` from a word, with no other number between. Two numbers must follow each
    /// other.
    pub(super) fn counts(&self, number: &str, counted: &str, distance: usize) -> bool {
        let mut places = self.0.iter().enumerate().filter(|(_, word)| *word == number);
        places.any(|(at, _)| {
            let (before, after) = (&self.0[..at], &self.0[at + 1..]);
            if is_number(counted) {
                return after.first().is_some_and(|next| next == counted);
            }
            let is_counted = |word: &&String| is_same(word, counted);
            let ends = |word: &&String| !is_number(word);
            after.iter().take_while(ends).take(distance).any(|word| is_counted(&word))
                || before.iter().rev().take_while(ends).take(distance).any(|word| is_counted(&word))
        })
    }
}

/// Verbs that say little by themselves.
const LIGHT_VERBS: &str =
    "use take make get put give find keep look go perform provide handle obtain set follow";

/// Whether another word in its place would say something else: an action, a state or an outcome.
fn changes_meaning(word: &str) -> bool {
    let is_form = |base: &str| {
        base == word
            || word.strip_prefix(base).is_some_and(|ending| {
                let doubled =
                    base.chars().last().and_then(|last| ending.strip_prefix(last)).unwrap_or(ending);
                matches!(doubled, "s" | "es" | "d" | "ed" | "ing" | "er" | "ers" | "ly")
            })
            || base.strip_suffix('e').is_some_and(|stem| {
                word.strip_prefix(stem).is_some_and(|ending| matches!(ending, "ing" | "ion" | "al"))
            })
    };
    let verbs = VERBS.split_whitespace().filter(|verb| !listed(LIGHT_VERBS, verb));
    verbs.chain(OUTCOMES.split_whitespace()).any(is_form)
}

/// Returns the words of a sentence that are names: with a capital, a digit or a mark inside.
fn names(sentence: &str) -> Vec<String> {
    let named = sentence.split_whitespace().enumerate().filter(|(at, word)| {
        let bare_word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let inner = bare_word.chars().skip(1).any(|c| !c.is_lowercase() && c != '\'' && c != '’');
        inner
            || bare_word.starts_with(char::is_uppercase)
                && !(*at == 0 && listed(PLAIN, &bare_word.to_lowercase()))
    });
    named.flat_map(|(_, word)| words(word)).collect()
}

#[cfg(test)]
mod tests;

//! Compares two questions by their words.
//!
//! Vectors cannot distinguish them: a question with another number, or without its `not`, has a cosine of nearly 1. So
//! both are brought into a common [wording](super::wording), and only articles and synonyms may still differ. The other
//! words must be the same sequence, even unlisted names. The kind of the differing word is reported for the counters.

use std::collections::BTreeSet;

use super::{
    facts,
    guard_words::{
        DATES, DIRECTIONS, EMPTY, IRREGULAR_PARTICIPLES, NAME_PREPOSITIONS, NEGATIONS, SAME, SENT, UNITS,
    },
    wording::{listed, names_in, reworded},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QuestionMismatch {
    Negation,
    Direction,
    Version,
    Date,
    Number,
    Unit,
    Path,
    Id,
    Name,
    Word,
    /// The same words in another order.
    Order,
}

impl QuestionMismatch {
    /// Returns the name of its counter, such as `negation`.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }
}

/// Returns how two questions differ. `None` if they are equivalent.
pub(crate) fn mismatch(a: &str, b: &str) -> Option<QuestionMismatch> {
    let (a, b) = (words(a), words(b));
    let names: BTreeSet<String> = names_in(&a).chain(names_in(&b)).collect();
    let (a, b) = (content(&a, &names), content(&b, &names));
    if a == b {
        return None;
    }
    let only = |x: &[String], y: &[String]| -> Vec<QuestionMismatch> {
        let mut remaining = y.to_vec();
        let unmatched = x.iter().filter(|word| match remaining.iter().position(|other| other == *word) {
            Some(at) => {
                remaining.swap_remove(at);
                false
            }
            None => true,
        });
        unmatched.map(|word| kind(word)).collect()
    };
    let differing = only(&a, &b).into_iter().chain(only(&b, &a));
    Some(differing.min().unwrap_or(QuestionMismatch::Order))
}

/// Returns the words that two equivalent questions share, in order.
fn content(words: &[String], names: &BTreeSet<String>) -> Vec<String> {
    let words = reworded(words, names);
    let mut content: Vec<String> = Vec::with_capacity(words.len());
    for (at, word) in words.iter().enumerate() {
        let plain = same(word, at == 0 && !names.contains(word));
        if listed(EMPTY, &plain) {
            continue;
        }
        let next = words.get(at + 1).and_then(|next| next.chars().next());
        let named = next.is_some_and(|c| c.is_uppercase() || (c.is_ascii_digit() && plain != "at"));
        let apart = content.last().is_none_or(|last| {
            last.ends_with("ed")
                || listed(IRREGULAR_PARTICIPLES, last)
                || (plain != "of" && listed(SENT, &last.to_lowercase()))
        });
        let of = listed(NAME_PREPOSITIONS, &plain) && named && !apart;
        content.push(if of { "of".into() } else { plain });
    }
    content
}

/// Splits a question into words. Currencies and `%` become words; other marks inside numbers, paths, versions and IDs
/// stay.
fn words(question: &str) -> Vec<String> {
    let mut words = Vec::new();
    for raw in question.split_whitespace() {
        let word = raw.trim_end_matches(['.', ',', '?', '!', ';', ':']).trim_matches(['(', ')']);
        let word = if word.is_empty() { raw } else { word };
        let number = word.trim_start_matches(['$', '€', '£', '#']);
        let digits = number.starts_with(|c: char| c.is_ascii_digit());
        match word.chars().next() {
            Some('#') if digits => words.push(number.to_owned()),
            Some(currency) if digits && number.len() < word.len() => {
                words.extend([number.to_owned(), currency.to_string()]);
            }
            _ => match word.strip_suffix('%').filter(|number| !number.is_empty()) {
                Some(number) => words.extend([number.to_owned(), "%".to_owned()]),
                None => words.push(word.to_owned()),
            },
        }
    }
    words
}

/// Normalizes a word for comparison: names keep their case, numbers lose their commas.
fn same(word: &str, first: bool) -> String {
    let upper = word.chars().filter(|c| c.is_uppercase()).count();
    let lower = word.to_lowercase();
    if let Some(number) = facts::digits(&lower) {
        return number;
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) && word.chars().all(|c| c.is_ascii_digit() || c == ',')
    {
        return word.replace(',', "");
    }
    let plain = if first && upper == 1 && word.starts_with(char::is_uppercase) { &lower } else { word };
    let alike = SAME.iter().find(|words| listed(words, &lower)).and_then(|words| words.split(' ').next());
    alike.unwrap_or(plain).to_owned()
}

fn kind(word: &str) -> QuestionMismatch {
    let lower = word.to_lowercase();
    let is = |list: &str| listed(list, &lower);
    let digits = word.contains(|c: char| c.is_ascii_digit());
    let number = word.trim_start_matches(['-', '+']);
    let dots = word.matches('.').count();
    if is(NEGATIONS) || lower.ends_with("n't") || lower.ends_with("n’t") {
        QuestionMismatch::Negation
    } else if is(DATES) {
        QuestionMismatch::Date
    } else if is(UNITS) {
        QuestionMismatch::Unit
    } else if is(DIRECTIONS) || word.chars().all(|c| matches!(c, '<' | '>' | '=' | '!' | '≤' | '≥' | '→'))
    {
        QuestionMismatch::Direction
    } else if digits && (dots > 1 || (lower.starts_with('v') && dots > 0)) {
        QuestionMismatch::Version
    } else if digits
        && word.len() >= 8
        && word.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '/' | ':' | 'T' | 'Z'))
        && word.contains(['-', '/', ':'])
    {
        QuestionMismatch::Date
    } else if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.') {
        QuestionMismatch::Number
    } else if word.contains(['/', '\\']) || (dots > 0 && !digits) {
        QuestionMismatch::Path
    } else if digits || word.contains(['_', '@', '#']) {
        QuestionMismatch::Id
    } else if word.contains(char::is_uppercase) {
        QuestionMismatch::Name
    } else {
        QuestionMismatch::Word
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_say_nothing_may_differ() {
        for (a, b) in [
            ("weather in Paris", "what is the weather in Paris?"),
            ("list open pull requests", "please show me the open pull requests"),
            ("orders above 500 dollars", "find orders above $500"),
            ("sales report for March 2024", "give me the sales report of March 2024"),
            ("the last five commits", "last 5 commits"),
        ] {
            assert_eq!(mismatch(a, b), None, "{a} | {b}");
        }
    }

    #[test]
    fn the_guard_that_refuses_is_named() {
        for (a, b, guard) in [
            ("users with a key", "users without a key", QuestionMismatch::Negation),
            ("who isn't paid", "who is paid", QuestionMismatch::Negation),
            ("events before June 1", "events after June 1", QuestionMismatch::Direction),
            ("last 5 commits", "last 10 commits", QuestionMismatch::Number),
            ("changelog of 18.2.1", "changelog of 18.2.2", QuestionMismatch::Version),
            ("log of 2026-11-22", "log of 2026-11-23", QuestionMismatch::Date),
            ("meetings today", "meetings tomorrow", QuestionMismatch::Date),
            ("10 km", "10 miles", QuestionMismatch::Unit),
            ("open src/main.rs", "open src/lib.rs", QuestionMismatch::Path),
            ("issue AB-12", "issue AB-21", QuestionMismatch::Id),
            ("weather in Paris", "weather in London", QuestionMismatch::Name),
            ("weather in paris", "weather in london", QuestionMismatch::Word),
            ("flights from Paris to Rome", "flights from Rome to Paris", QuestionMismatch::Order),
            ("man bites dog", "dog bites man", QuestionMismatch::Order),
            ("goods made in Germany", "goods made for Germany", QuestionMismatch::Direction),
            ("list", "show", QuestionMismatch::Word),
        ] {
            assert_eq!(mismatch(a, b), Some(guard), "{a} | {b}");
            assert_eq!(mismatch(b, a), Some(guard), "{b} | {a}");
        }
    }
}

//! Checks that a model's sentence claims no more than the result states. Lies can be built from the result's own words,
//! so one passage must contain all content words of the sentence. Negations, quantifiers and superlatives must be in
//! the digest, which counts. A sentence in the model's own words is [close](close) to one paragraph or record.
//! Instructions to the reader are rejected.

mod close;

use gatehouse_sdk::text::DigestResult;
use serde_json::Value;

use close::SentenceClauses;

use super::{
    claim_words::{ADDRESS, ADDRESSING, BEFORE_VERBS, CLAIMS, LIMITS, NOT_SUPERLATIVE, PLAIN, TRIED, VERBS},
    facts,
    summary::PROSE,
    wording::listed,
};

/// Longer passages would join words about different things.
const MAX_PASSAGE: usize = 600;

const MAX_PASSAGES: usize = 20_000;

const STEM_LETTERS: usize = 4;

pub(super) struct ResultStatements {
    /// Paragraphs of prose, each as its sentences. Lines and records are paragraphs of one passage.
    of_result: Vec<Vec<Passage>>,
    of_digest: Vec<Passage>,
    /// Maximum words between a number and what it counts, for sentences in words of their own. `None` if there are none: a
    /// line of a log is too short for them.
    distance: Option<usize>,
}

/// How a result supports a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SentenceSupport {
    /// In the words of the result.
    Stated,
    /// In words of its own, next to those of one paragraph or record.
    Close,
}

impl ResultStatements {
    pub(super) fn new(text: &str, digest: &DigestResult) -> Self {
        let mut alone = Vec::new();
        let (mut of_result, mut distance) = (Vec::new(), None);
        match serde_json::from_str(text) {
            Ok(value) => {
                records("", &value, &mut alone);
                distance = Some(1);
            }
            Err(_) if PROSE.contains(&digest.kind.as_str()) => {
                of_result = close::paragraphs(text);
                distance = Some(close::MAX_DISTANCE);
            }
            Err(_) => text.lines().for_each(|line| clauses(line, &mut alone)),
        }
        of_result.extend(alone.into_iter().map(|passage| vec![passage]));
        let mut of_digest = Vec::new();
        // Each item of `2 ERROR, 1 WARN` is a separate statement. A short result is its own digest, which counts nothing.
        let text = if digest.shortened { digest.text.as_str() } else { "" };
        let lines = digest.findings.iter().map(String::as_str).chain(text.lines());
        lines.for_each(|line| {
            split_clauses(line, &[", ", " | line "], &mut |clause| push_passage(clause, &mut of_digest))
        });
        Self { of_result, of_digest, distance }
    }

    /// Returns how the result supports a sentence. `None` if it does not, or if the sentence is an instruction.
    pub(super) fn support(&self, sentence: &str) -> Option<SentenceSupport> {
        let telling = content_words(sentence);
        if is_instruction(sentence) || telling.iter().all(|word| is_claim(word)) {
            return None;
        }
        let states = |passage: &Passage| passage.states(&telling);
        let claims = telling.iter().any(|word| is_claim(word));
        if self.of_digest.iter().any(states) || (!claims && self.of_result.iter().flatten().any(states)) {
            return Some(SentenceSupport::Stated);
        }
        let (distance, sentence) = (self.distance?, SentenceClauses::new(sentence));
        let is_close = self.of_result.iter().any(|passages| sentence.are_close(passages, distance));
        is_close.then_some(SentenceSupport::Close)
    }
}

/// The content words of a line or a record, in order.
struct Passage(Vec<String>);

impl Passage {
    /// Returns whether the passage has all these words, and each number is next to what it counts, or next to the word
    /// before it and near what it counts.
    fn states(&self, telling: &[String]) -> bool {
        let mut limits = self.0.iter().filter(|word| listed(LIMITS, word));
        limits.all(|limit| telling.contains(limit))
            && telling.iter().all(|word| self.0.iter().any(|passage_word| is_same(passage_word, word)))
            && telling.iter().enumerate().filter(|(_, word)| is_number(word)).all(|(at, number)| {
                let is_beside = |word: &String| self.counts(number, word, 1);
                let before = at.checked_sub(1).map(|at| &telling[at]);
                match telling.get(at + 1) {
                    Some(next) if is_beside(next) => true,
                    Some(next) => {
                        before.is_some_and(is_beside) && self.counts(number, next, close::MAX_DISTANCE)
                    }
                    None => before.is_none_or(|word| is_number(word) || is_beside(word)),
                }
            })
    }
}

fn content_words(text: &str) -> Vec<String> {
    words(text).into_iter().filter(|word| !listed(PLAIN, word) || is_claim(word)).collect()
}

fn is_instruction(sentence: &str) -> bool {
    let spaced = format!(" {} ", words(sentence).join(" "));
    let addresses = words(sentence).iter().any(|word| listed(ADDRESS, word))
        || ADDRESSING.iter().any(|phrase| spaced.contains(&format!(" {phrase} ")));
    let mut orders = false;
    let joints =
        [": ", ", ", " and ", " then ", " or ", " but ", " so ", " - ", "(", ")", "\"", "“", "|", "->", "→"];
    split_clauses(sentence, &joints, &mut |clause| orders |= begins_with_verb(clause));
    addresses || orders || has_infinitive(&words(sentence))
}

fn begins_with_verb(clause: &str) -> bool {
    let words = words(clause);
    let mut words = words.iter().skip_while(|word| is_number(word));
    words.find(|word| !listed(BEFORE_VERBS, word)).is_some_and(|word| listed(VERBS, word))
}

/// Matches `The step is to send it`, but not `it failed to send`.
fn has_infinitive(words: &[String]) -> bool {
    words.windows(3).any(|three| three[1] == "to" && listed(VERBS, &three[2]) && !listed(TRIED, &three[0]))
}

/// Calls `give` with the clauses of a text, which end at punctuation or joining words.
fn split_clauses(text: &str, joints: &[&str], give: &mut impl FnMut(&str)) {
    let mut text = text.to_lowercase();
    for joint in joints {
        text = text.replace(joint, "\n");
    }
    let mut rest = text.as_str();
    // A period ends a clause only before whitespace, unlike in `src/main.rs` or `1.5`.
    while let Some((at, mark)) = rest.char_indices().find(|(at, c)| ends(&rest[at + c.len_utf8()..], *c)) {
        give(&rest[..at]);
        rest = &rest[at + mark.len_utf8()..];
    }
    give(rest);
}

fn ends(after: &str, c: char) -> bool {
    match c {
        ';' | '\n' | '—' | '–' | '。' => true,
        '.' | '!' | '?' => after.is_empty() || after.starts_with(char::is_whitespace),
        _ => false,
    }
}

fn clauses(text: &str, into: &mut Vec<Passage>) {
    split_clauses(text, &[], &mut |clause| push_passage(clause, into));
}

fn push_passage(text: &str, into: &mut Vec<Passage>) {
    if into.len() < MAX_PASSAGES && !text.trim().is_empty() {
        into.push(Passage(content_words(&text[..text.floor_char_boundary(MAX_PASSAGE)])));
    }
}

/// Collects passages: a short record is one; otherwise, each of its values is one, with its name.
fn records(name: &str, value: &Value, into: &mut Vec<Passage>) {
    if !holds_records(value) {
        let whole = format!("{name} {value}");
        if whole.len() <= MAX_PASSAGE {
            push_passage(&whole, into);
            return;
        }
    }
    match value {
        Value::Object(map) => {
            let (inner, fields): (Vec<_>, Vec<_>) =
                map.iter().partition(|(_, value)| value.is_object() || value.is_array());
            inner.into_iter().for_each(|(name, value)| records(name, value, into));
            let fields: Vec<String> =
                fields.into_iter().map(|(name, value)| format!("{name} {value}")).collect();
            fields.iter().for_each(|field| clauses(field, into));
            push_passage(&format!("{name} {}", fields.join(" ")), into);
        }
        Value::Array(items) => items.iter().for_each(|item| records(name, item, into)),
        Value::String(text) => text.lines().for_each(|line| clauses(line, into)),
        other => push_passage(&format!("{name} {other}"), into),
    }
}

/// Returns whether a value contains several things of one kind, whose facts must not be mixed.
fn holds_records(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            items.iter().filter(|item| item.is_object() || item.is_array()).count() > 1
                || items.iter().any(holds_records)
        }
        Value::Object(map) => {
            let mut kinds: Vec<Vec<&String>> =
                map.values().filter_map(Value::as_object).map(|inner| inner.keys().collect()).collect();
            let count = kinds.len();
            kinds.sort();
            kinds.dedup();
            kinds.len() < count || map.values().any(holds_records)
        }
        _ => false,
    }
}

/// Splits a text into lowercase words: `don't` becomes `dont`, `1,200.50` becomes `1200.5`. `web-1` is one word.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace(['\'', '’'], "");
    let mut words = Vec::new();
    let is_joint = |(at, _): (usize, &str)| {
        text[..at].ends_with(char::is_alphabetic) && text[at + 1..].starts_with(|c: char| c.is_ascii_digit())
    };
    let joints: Vec<usize> =
        text.match_indices('-').filter(|joint| is_joint(*joint)).map(|(at, _)| at).collect();
    let mut at = 0;
    let is_end = |c: char| {
        let ends = !(c.is_alphanumeric() || matches!(c, '.' | ',')) && joints.binary_search(&at).is_err();
        at += c.len_utf8();
        ends
    };
    for word in text.split(is_end) {
        if word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains(char::is_alphabetic) {
            words.extend(facts::number(word));
        } else {
            let parts = word.split(['.', ',']).filter(|part| !part.is_empty());
            words.extend(parts.map(|part| facts::digits(part).unwrap_or_else(|| part.to_owned())));
        }
    }
    words
}

fn is_claim(word: &str) -> bool {
    let superlative = word.len() > 5 && word.ends_with("est") && !listed(NOT_SUPERLATIVE, word);
    superlative || listed(CLAIMS, word)
}

/// Returns whether two words are equal or forms of one word. Claims and numbers must be equal.
fn is_same(passage_word: &str, word: &str) -> bool {
    if passage_word == word {
        return true;
    }
    // Cheap comparisons first: a result has very many words.
    let is_plural =
        passage_word.strip_suffix('s') == Some(word) || word.strip_suffix('s') == Some(passage_word);
    if !is_plural && !have_same_stem(word, passage_word)
        || is_claim(word)
        || word.contains(|c: char| c.is_numeric())
    {
        return false;
    }
    is_plural || word.chars().count() > STEM_LETTERS
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Returns whether two words differ only in their ending: `fails`, `failed` and `failure`.
fn have_same_stem(a: &str, b: &str) -> bool {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.chars().count(), b.chars().count());
    same >= STEM_LETTERS && same + 3 >= a.max(b) && same + 2 >= a.min(b)
}

#[cfg(test)]
mod tests;

//! Whether a sentence of a model says no more than the result does. A lie can be made of the result's own words, so a
//! sentence is kept only if one passage of the result has all the words that it says something with. What it says of many
//! things at once (negations, quantifiers, superlatives) a result seldom states, and the digest counts it: there it has to
//! be in the digest. A sentence that tells the reader what to do is never kept.

use gatehouse_sdk::text::DigestResult;
use serde_json::Value;

use super::{
    claim_words::{ADDRESS, ADDRESSING, BEFORE_VERBS, CLAIMS, NOT_SUPERLATIVE, PLAIN, TRIED, VERBS},
    facts,
};

/// Bytes of a passage at most: beyond, words that belong to different things would be together.
const MAX_PASSAGE: usize = 600;

/// Passages of one result at most.
const MAX_PASSAGES: usize = 20_000;

/// Letters in which two forms of a word agree.
const STEM_LETTERS: usize = 4;

/// What a result states, in passages.
pub(super) struct ResultStatements {
    of_result: Vec<Passage>,
    of_digest: Vec<Passage>,
}

impl ResultStatements {
    /// Reads a result, or what of it the model read, and its digest.
    pub(super) fn new(text: &str, digest: &DigestResult) -> Self {
        let mut of_result = Vec::new();
        match serde_json::from_str(text) {
            Ok(value) => records("", &value, &mut of_result),
            Err(_) => text.lines().for_each(|line| clauses(line, &mut of_result)),
        }
        let mut of_digest = Vec::new();
        // Of `2 ERROR, 1 WARN` each is a statement of its own.
        let lines = digest.findings.iter().map(String::as_str).chain(digest.text.lines());
        lines.for_each(|line| {
            split_clauses(line, &[", "], &mut |clause| push_passage(clause, &mut of_digest))
        });
        Self { of_result, of_digest }
    }

    /// True if the result states what the sentence says, and the sentence is no instruction.
    pub(super) fn support(&self, sentence: &str) -> bool {
        let telling = content_words(sentence);
        if is_instruction(sentence) || telling.iter().all(|word| is_claim(word)) {
            return false;
        }
        let states = |passage: &Passage| passage.states(&telling);
        let claims = telling.iter().any(|word| is_claim(word));
        self.of_digest.iter().any(states) || (!claims && self.of_result.iter().any(states))
    }
}

/// The words of a line or a record that say something, in their order.
struct Passage(Vec<String>);

impl Passage {
    /// True if it has all these words, and each number next to a word that it is next to here: what is counted.
    fn states(&self, telling: &[String]) -> bool {
        let numbers = telling.iter().enumerate().filter(|(_, word)| is_number(word));
        telling.iter().all(|word| self.0.iter().any(|own| is_same(own, word)))
            && numbers.into_iter().all(|(at, number)| {
                let beside = [at.checked_sub(1), Some(at + 1)].map(|at| at.and_then(|at| telling.get(at)));
                telling.len() == 1 || beside.into_iter().flatten().any(|word| self.has_beside(number, word))
            })
    }

    fn has_beside(&self, number: &str, word: &str) -> bool {
        let pairs = self.0.windows(2);
        let is = |a: &str, b: &str| a == number && is_same(b, word);
        pairs.into_iter().any(|pair| is(&pair[0], &pair[1]) || is(&pair[1], &pair[0]))
    }
}

fn content_words(text: &str) -> Vec<String> {
    words(text).into_iter().filter(|word| !is_in(PLAIN, word) || is_claim(word)).collect()
}

/// True if a sentence addresses its reader or has a clause that begins like an instruction.
fn is_instruction(sentence: &str) -> bool {
    let spaced = format!(" {} ", words(sentence).join(" "));
    let addresses = words(sentence).iter().any(|word| is_in(ADDRESS, word))
        || ADDRESSING.iter().any(|phrase| spaced.contains(&format!(" {phrase} ")));
    let mut orders = false;
    split_clauses(sentence, &[": ", ", ", " and ", " then ", " or ", " but ", " so "], &mut |clause| {
        orders |= begins_with_verb(clause)
    });
    addresses || orders || has_infinitive(&words(sentence))
}

fn begins_with_verb(clause: &str) -> bool {
    words(clause).iter().find(|word| !is_in(BEFORE_VERBS, word)).is_some_and(|word| is_in(VERBS, word))
}

/// `The step is to send it`, and not `it failed to send`.
fn has_infinitive(words: &[String]) -> bool {
    words.windows(3).any(|three| three[1] == "to" && is_in(VERBS, &three[2]) && !is_in(TRIED, &three[0]))
}

/// Gives the clauses of a text, which end at punctuation and at some words.
fn split_clauses(text: &str, joints: &[&str], give: &mut impl FnMut(&str)) {
    let mut text = text.to_lowercase();
    for joint in joints {
        text = text.replace(joint, "\n");
    }
    let mut rest = text.as_str();
    // A point ends a clause only before a blank: `src/main.rs`, `1.5`.
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

/// A record is a passage if it is short; else each of its own values is one, with its name.
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
            let (inner, own): (Vec<_>, Vec<_>) =
                map.iter().partition(|(_, value)| value.is_object() || value.is_array());
            inner.into_iter().for_each(|(name, value)| records(name, value, into));
            let own: Vec<String> = own.into_iter().map(|(name, value)| format!("{name} {value}")).collect();
            own.iter().for_each(|one| clauses(one, into));
            push_passage(&format!("{name} {}", own.join(" ")), into);
        }
        Value::Array(items) => items.iter().for_each(|item| records(name, item, into)),
        Value::String(text) => text.lines().for_each(|line| clauses(line, into)),
        other => push_passage(&format!("{name} {other}"), into),
    }
}

/// Whether several things of one kind are in a value: what is true of one is not true of another.
fn holds_records(value: &Value) -> bool {
    match value {
        Value::Array(items) => {
            items.iter().filter(|item| item.is_object() || item.is_array()).count() > 1
                || items.iter().any(holds_records)
        }
        Value::Object(map) => {
            let mut kinds: Vec<Vec<&String>> =
                map.values().filter_map(Value::as_object).map(|inner| inner.keys().collect()).collect();
            let all = kinds.len();
            kinds.sort();
            kinds.dedup();
            kinds.len() < all || map.values().any(holds_records)
        }
        _ => false,
    }
}

/// Words in lower case. `don't` is `dont`, `1,200.50` is `1200.5`, and names are in parts.
fn words(text: &str) -> Vec<String> {
    let text = text.to_lowercase().replace(['\'', '’'], "");
    let mut words = Vec::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | ','))) {
        if word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains(char::is_alphabetic) {
            words.extend(facts::number(word));
        } else {
            let parts = word.split(['.', ',']).filter(|part| !part.is_empty());
            words.extend(parts.map(|part| facts::digits(part).unwrap_or_else(|| part.to_owned())));
        }
    }
    words
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

fn is_claim(word: &str) -> bool {
    let superlative = word.len() > 5 && word.ends_with("est") && !is_in(NOT_SUPERLATIVE, word);
    superlative || is_in(CLAIMS, word)
}

/// Whether a word is another one, or a form of it. A claim and a number have no other form.
fn is_same(own: &str, word: &str) -> bool {
    let exact =
        is_claim(word) || word.contains(|c: char| c.is_numeric()) || word.chars().count() <= STEM_LETTERS;
    own == word || (!exact && have_same_stem(word, own))
}

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// `fails`, `failed` and `failure`: the same but for an ending.
fn have_same_stem(a: &str, b: &str) -> bool {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let (a, b) = (a.chars().count(), b.chars().count());
    same >= STEM_LETTERS && same + 3 >= a.max(b) && same + 2 >= a.min(b)
}

#[cfg(test)]
mod tests;

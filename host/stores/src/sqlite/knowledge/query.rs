//! Turns any text into a query that the full-text index understands: words, quoted, joined by OR.
//!
//! No operator, quote or wildcard of the caller ever reaches the index. At most [`MAX_TERMS`] different
//! words count; words that say nothing are dropped unless there are no others.

use std::collections::HashSet;

/// Different words of a query that are used.
pub(super) const MAX_TERMS: usize = 64;

/// Longer words are cut: no page holds them, and the fault list stays readable.
const MAX_WORD: usize = 64;

/// Words so common that finding them says nothing.
const STOP_WORDS: [&str; 60] = [
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "s", "should", "so", "t", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "with", "you",
    "your", "will",
];

/// A query, taken apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// The words as the caller wrote them, each once.
    pub(super) words: Vec<String>,
    /// Hyphenated words as one word: `fine-tuning` is found as `finetuning` too.
    pub(super) joined: Vec<String>,
}

impl Query {
    /// Takes a text apart.
    pub(super) fn of(text: &str) -> Self {
        let (mut telling, mut common, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        for compound in text.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
            if telling.len() >= MAX_TERMS {
                break;
            }
            let parts: Vec<String> =
                compound.split('-').filter(|part| !part.is_empty()).take(MAX_TERMS).map(cut).collect();
            if (2..=3).contains(&parts.len()) {
                let whole = parts.concat();
                if seen.insert(whole.to_lowercase()) {
                    joined.push(whole);
                }
            }
            for part in parts {
                let lower = part.to_lowercase();
                let list = if STOP_WORDS.contains(&lower.as_str()) { &mut common } else { &mut telling };
                if list.len() < MAX_TERMS && seen.insert(lower) {
                    list.push(part);
                }
            }
        }
        if telling.is_empty() {
            return Self { words: common, joined: Vec::new() };
        }
        joined.truncate(MAX_TERMS);
        Self { words: telling, joined }
    }
}

/// A query for the index that any of these words answers; none where there is no word.
pub(super) fn any_of<'a>(words: impl Iterator<Item = &'a String>) -> Option<String> {
    let quoted: Vec<String> = words.map(|word| quote(word)).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

/// A word as the index reads it: inside quotes nothing is an operator. Words hold no quotes.
pub(super) fn quote(word: &str) -> String {
    format!("\"{word}\"")
}

fn cut(word: &str) -> String {
    word.chars().take(MAX_WORD).collect()
}

/// Names and identifiers inside a text, taken apart for the index: `UnslothGRPOTrainer` is also found by
/// `GRPO` and `Trainer`, and `fine-tuning` by `finetuning`. Gives only what the text itself does not.
pub(super) fn variants(text: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    for compound in text.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
        if compound.contains('-') && compound.split('-').filter(|part| !part.is_empty()).count() > 1 {
            found.push(compound.replace('-', ""));
        }
        for word in compound.split('-') {
            let parts = humps(word);
            if parts.len() > 1 {
                found.extend(parts);
            }
        }
    }
    found.join(" ")
}

/// The parts of an identifier in camel case.
fn humps(word: &str) -> Vec<String> {
    let chars: Vec<char> = word.chars().collect();
    let mut parts: Vec<String> = Vec::new();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|i| chars[i]);
        let after = chars.get(at + 1);
        let starts = match before {
            None => true,
            Some(before) => {
                c.is_uppercase()
                    && (before.is_lowercase()
                        || (before.is_uppercase() && after.is_some_and(|a| a.is_lowercase())))
            }
        };
        match parts.last_mut() {
            Some(last) if !starts => last.push(*c),
            _ => parts.push(c.to_string()),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    fn expression(text: &str) -> String {
        let query = Query::of(text);
        any_of(query.words.iter().chain(&query.joined)).unwrap_or_default()
    }

    #[test]
    fn words_are_quoted_and_operators_are_words() {
        assert_eq!(expression("LoRA rank"), r#""LoRA" OR "rank""#);
        assert_eq!(
            expression(r#"title:"x" NEAR(a b) ^c* -d"#),
            r#""title" OR "x" OR "NEAR" OR "b" OR "c" OR "d""#
        );
        assert_eq!(expression("fine-tuning"), r#""fine" OR "tuning" OR "finetuning""#);
    }

    #[test]
    fn common_words_count_only_when_there_are_no_others() {
        assert_eq!(expression("how to use the LoRA"), r#""use" OR "LoRA""#);
        assert_eq!(expression("How is it"), r#""How" OR "is" OR "it""#);
    }

    #[test]
    fn nothing_to_look_for_is_no_query() {
        for text in ["", " ", "\"'*()-^:", "🙂🙃", "\0"] {
            assert_eq!(expression(text), "", "{text:?}");
        }
    }

    #[test]
    fn long_queries_are_bounded() {
        let many: String = (0..10_000).map(|n| format!("w{n} w-{n}-x ")).collect();
        assert_eq!(Query::of(&many).words.len(), MAX_TERMS);
        assert!(expression(&many).len() < 10_000);
        assert_eq!(Query::of(&"x".repeat(10_000_000)).words[0].len(), MAX_WORD);
        assert!(expression(&"a-".repeat(1_000_000)).len() < 10_000);
    }

    #[test]
    fn identifiers_are_found_by_their_parts() {
        assert_eq!(variants("UnslothGRPOTrainer"), "Unsloth GRPO Trainer");
        assert_eq!(variants("a fine-tuning tip"), "finetuning");
        assert_eq!(variants("plain words_here"), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_text_is_a_valid_query(text in prop_oneof!["\\PC*", ".*", "[\"'*():^+\\-a-c AND OR NOT NEAR{}]*"]) {
            let db = Connection::open_in_memory().unwrap();
            db.execute_batch("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'porter unicode61')").unwrap();
            db.execute("INSERT INTO t VALUES (?1)", [&text]).unwrap();
            let expression = expression(&text);
            if !expression.is_empty() {
                let _hits: i64 =
                    db.query_row("SELECT count(*) FROM t WHERE t MATCH ?1", [expression], |row| row.get(0)).unwrap();
            }
        }
    }
}

//! Splits text into search terms. Drops operators, quotes and wildcards, and stop words unless there are no other
//! words.

use std::collections::HashSet;

use super::{
    fold::search_key,
    script::{self, ScriptRun},
    stem,
};
use crate::names::starts_word;

pub const MAX_TERMS: usize = 64;

/// Longer words are truncated, so that the list of unmatched words stays readable.
const MAX_WORD: usize = 64;

const STOP_WORDS: [&str; 60] = [
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "by", "can", "could", "did", "do", "does",
    "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "of",
    "on", "or", "our", "s", "should", "so", "t", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "with", "you",
    "your", "will",
];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// Distinct words as the caller wrote them, by their [key](search_key).
    pub words: Vec<String>,
    /// Hyphenated words as one word: `fine-tuning` is also searched as `finetuning`.
    pub joined: Vec<String>,
    /// Runs in scripts that the word index does not cover; not part of `words`.
    pub stretches: Vec<ScriptRun>,
}

impl SearchQuery {
    pub fn new(text: &str) -> Self {
        let (mut significant, mut common, mut joined) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = HashSet::new();
        let separated = script::separate_scripts(text);
        for compound in separated.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
            if significant.len() >= MAX_TERMS {
                break;
            }
            let parts: Vec<String> = compound
                .split('-')
                .filter(|part| !part.is_empty())
                .take(MAX_TERMS)
                .map(truncate_word)
                .collect();
            if parts.iter().any(|part| script::has_other(part)) {
                continue;
            }
            if (2..=3).contains(&parts.len()) {
                let whole = parts.concat();
                if seen.insert(whole.to_lowercase()) {
                    joined.push(whole);
                }
            }
            for part in parts {
                let lower = part.to_lowercase();
                let list = if is_stop_word(&lower) { &mut common } else { &mut significant };
                if list.len() < MAX_TERMS && seen.insert(lower) {
                    list.push(part);
                }
            }
        }
        let stretches = script::script_runs(text, MAX_TERMS);
        if significant.is_empty() {
            let words = if stretches.is_empty() { common } else { Vec::new() };
            return Self { words, joined: Vec::new(), stretches };
        }
        joined.truncate(MAX_TERMS);
        Self { words: significant, joined, stretches }
    }

    pub fn is_empty(&self) -> bool {
        self.words.is_empty() && self.stretches.is_empty()
    }
}

/// Returns whether a word in lower case is so common in English that no search needs it.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

pub(super) fn truncate_word(word: &str) -> String {
    word.chars().take(MAX_WORD).collect()
}

/// Returns the parts of identifiers and hyphenated words for the index, so that `GRPO` finds `UnslothGRPOTrainer` and
/// `finetuning` finds `fine-tuning`.
pub fn variants(text: &str) -> String {
    let text = search_key(text);
    let mut variants: Vec<String> = Vec::new();
    for compound in text.split(|c: char| !(c.is_alphanumeric() || c == '-')) {
        if compound.contains('-') && compound.split('-').filter(|part| !part.is_empty()).count() > 1 {
            variants.push(compound.replace('-', ""));
        }
        for word in compound.split('-') {
            let parts = split_camel_case(word);
            if parts.len() > 1 {
                variants.extend(parts);
            }
        }
    }
    variants.join(" ")
}

/// Calls `emit` with each term of a question or document for an in-memory index: lower case, stemmed, without stop
/// words, identifiers both whole and split, and n-grams for other scripts.
pub fn for_each_term(text: &str, mut emit: impl FnMut(&str)) {
    let mut term = String::new();
    let mut emit_term = |word: &str| {
        term.clear();
        if word.is_ascii() {
            term.push_str(word);
            term.make_ascii_lowercase();
        } else {
            term.extend(word.chars().flat_map(char::to_lowercase));
        }
        if !is_stop_word(&term) {
            stem(&mut term);
            emit(&term);
        }
    };
    for word in search_key(text).split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        if script::has_other(word) {
            let separated = script::separate_scripts(word);
            let latin = separated.split(' ').filter(|piece| !script::has_other(piece));
            script::grams(word).split(' ').chain(latin).for_each(&mut emit_term);
            continue;
        }
        let starts_lower = word.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
        emit_term(word);
        // Words in lower case have no parts.
        if !(starts_lower && word.bytes().all(|b| b.is_ascii_lowercase())) && word.len() <= MAX_WORD {
            let parts = split_camel_case(word);
            if parts.len() > 1 {
                parts.iter().for_each(|part| emit_term(part));
            }
        }
    }
}

fn split_camel_case(word: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut before = ' ';
    let mut rest = word.chars().peekable();
    while let Some(c) = rest.next() {
        match parts.last_mut() {
            Some(last) if !starts_word(before, c, rest.peek().copied()) => last.push(c),
            _ => parts.push(c.to_string()),
        }
        before = c;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let query = SearchQuery::new(text);
        query.words.into_iter().chain(query.joined).collect()
    }

    #[test]
    fn operators_are_words() {
        assert_eq!(words("LoRA rank"), ["LoRA", "rank"]);
        assert_eq!(words(r#"title:"x" NEAR(a b) ^c* -d"#), ["title", "x", "NEAR", "b", "c", "d"]);
        assert_eq!(words("fine-tuning"), ["fine", "tuning", "finetuning"]);
    }

    #[test]
    fn stop_words_count_only_without_other_words() {
        assert_eq!(words("how to use the LoRA"), ["use", "LoRA"]);
        assert_eq!(words("How is it"), ["How", "is", "it"]);
        assert!(words("the 模型").is_empty());
    }

    #[test]
    fn query_without_words_is_empty() {
        for text in ["", " ", "\"'*()-^:", "🙂🙃", "\0"] {
            assert!(SearchQuery::new(text).is_empty(), "{text:?}");
        }
    }

    #[test]
    fn other_scripts_are_runs_instead_of_words() {
        let query = SearchQuery::new("导出GGUF格式 и модель");
        assert_eq!(query.words, ["GGUF"]);
        let texts: Vec<&str> = query.stretches.iter().map(|stretch| stretch.text.as_str()).collect();
        assert_eq!(texts, ["导出", "格式", "и", "модель"]);
    }

    #[test]
    fn long_queries_are_bounded() {
        let many: String = (0..10_000).map(|n| format!("w{n} w-{n}-x ")).collect();
        let query = SearchQuery::new(&many);
        assert_eq!(query.words.len(), MAX_TERMS);
        assert!(query.joined.len() <= MAX_TERMS);
        assert_eq!(SearchQuery::new(&"x".repeat(10_000_000)).words[0].len(), MAX_WORD);
        assert!(words(&"a-".repeat(1_000_000)).len() < 200);
    }

    #[test]
    fn terms_are_stemmed_split_and_significant() {
        let terms = |text: &str| {
            let mut terms = Vec::new();
            for_each_term(text, |term| terms.push(term.to_owned()));
            terms
        };
        assert_eq!(
            terms("The Calibrations of UnslothGRPOTrainer"),
            ["calibr", "unslothgrpotrain", "unsloth", "grpo", "trainer"]
        );
        assert_eq!(terms("num_tpl_threads, ÜBER"), ["num", "tpl", "thread", "uber"]);
        assert_eq!(terms("导出GGUF"), ["导出", "出", "gguf"]);
    }

    #[test]
    fn variants_split_identifiers() {
        assert_eq!(variants("UnslothGRPOTrainer"), "Unsloth GRPO Trainer");
        assert_eq!(variants("a fine-tuning tip"), "finetuning");
        assert_eq!(variants("plain words_here"), "");
    }
}

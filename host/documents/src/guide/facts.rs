//! Facts of documents for the guide, and the words that distinguish them: frequent in some, absent from most.

use std::collections::{BTreeMap, HashMap};

use gatehouse_core::search::SearchQuery;
use gatehouse_decode::prefix;

use crate::{
    clean::one_line,
    front_matter::FrontMatter,
    headings::headings,
    kinds::{self, FileKind},
};

const MAX_COUNTED_BYTES: usize = 64 * 1024;

const MAX_SENTENCE: usize = 160;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GuideFacts {
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) first_sentence: String,
    pub(crate) headings: Vec<String>,
    /// Most frequent significant words with their counts, sorted.
    pub(crate) terms: Vec<(String, u32)>,
    pub(crate) is_code: bool,
}

impl GuideFacts {
    pub(crate) fn new(path: &str, text: &str, titles: &[String]) -> Self {
        let kind = kinds::kind(path).unwrap_or(FileKind::Plain);
        let is_code = matches!(kind, FileKind::Source | FileKind::Data);
        let front = if is_code { None } else { FrontMatter::from_text(text) };
        let head = prefix(&text[front.as_ref().map_or(0, |front| front.end)..], MAX_COUNTED_BYTES);
        let description = front.and_then(|front| front.description).map(|text| one_line(&text, MAX_SENTENCE));
        let first_sentence = match description {
            _ if kind == FileKind::Data => String::new(),
            Some(description) if !description.is_empty() => description,
            _ => first_sentence(head, is_code),
        };
        Self {
            path: path.to_owned(),
            title: titles.first().cloned().unwrap_or_default(),
            first_sentence,
            headings: titles.iter().skip(1).take(8).cloned().collect(),
            terms: frequent_terms(head),
            is_code,
        }
    }

    pub(super) fn from_stored(path: &str, text: &str) -> Self {
        let head = prefix(text, MAX_COUNTED_BYTES);
        let lines: Vec<&str> = head.split_inclusive('\n').collect();
        let headings = headings(kinds::kind(path).unwrap_or(FileKind::Plain), head, &lines);
        let titles: Vec<String> = headings.into_iter().take(20).map(|heading| heading.title).collect();
        Self::new(path, text, &titles)
    }
}

/// Returns the first sentence of prose, or of the first comment in code.
pub(super) fn first_sentence(text: &str, is_code: bool) -> String {
    let mut sentence = String::new();
    let mut fenced = false;
    for line in text.lines().take(200) {
        let line = prefix(line.trim(), 2_000);
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
            continue;
        }
        let comment = line.trim_start_matches(['/', '!', '*', '#', ';', '"', '-']);
        let text = if is_code && comment.len() < line.len() { comment.trim() } else { line };
        let prose = !fenced && is_prose(text) && (!is_code || comment.len() < line.len());
        if prose && !(is_code && text.starts_with('[')) {
            sentence = sentence + " " + text;
            if sentence.len() > 400 {
                break;
            }
        } else if !sentence.is_empty() {
            break;
        }
    }
    let line = one_line(&sentence, 400);
    let end = line.match_indices(". ").map(|(at, _)| at + 1).find(|at| *at > 20);
    one_line(&line[..end.unwrap_or(line.len())], MAX_SENTENCE)
}

fn is_prose(line: &str) -> bool {
    let markup = line.starts_with(['#', '<', '|', '!', '=', '>', ':', '{', '+', '.'])
        || line.starts_with("[!")
        || (line.starts_with("import ") || line.starts_with("export ")) && line.ends_with(';')
        || line.starts_with("---");
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    let underlined = line.len() >= 3 && letters == 0;
    !markup && !underlined && letters * 2 > line.chars().count() && line.split_whitespace().count() >= 3
}

const MAX_TERMS: usize = 40;

fn frequent_terms(text: &str) -> Vec<(String, u32)> {
    let mut counts: HashMap<&str, u32> = HashMap::new();
    for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if (3..=40).contains(&word.len()) && word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            *counts.entry(word).or_default() += 1;
        }
    }
    let mut counts: Vec<(&str, u32)> = counts.into_iter().collect();
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let significant =
        counts.into_iter().take(4 * MAX_TERMS).filter(|(word, _)| is_significant(word)).take(MAX_TERMS);
    let mut sorted: Vec<(String, u32)> = significant.map(|(word, count)| (word.to_owned(), count)).collect();
    sorted.sort_unstable();
    sorted
}

fn is_significant(word: &str) -> bool {
    // Words that are common in code.
    const COMMON: [&str; 42] = [
        "let", "use", "self", "new", "not", "but", "return", "import", "true", "false", "none", "null",
        "else", "def", "str", "int", "pub", "fn", "mut", "impl", "var", "const", "class", "function",
        "public", "static", "void", "string", "struct", "http", "https", "www", "com", "one", "all", "may",
        "also", "only", "some", "test", "assert", "value",
    ];
    let lower = word.to_lowercase();
    // A query of stop words only keeps them, so add another word.
    !COMMON.contains(&lower.as_str()) && SearchQuery::new(&format!("{word} zzz")).words.len() >= 2
}

/// Returns the most significant words, then identifiers, of the repository.
pub(super) fn repository_terms(facts: &[GuideFacts]) -> (Vec<String>, Vec<String>) {
    // Sorted, so that sums are the same in every run.
    let mut spread: BTreeMap<String, (u32, f64, BTreeMap<&str, u32>)> = BTreeMap::new();
    for document in facts {
        for (word, count) in &document.terms {
            let entry = spread.entry(word.to_lowercase()).or_default();
            entry.0 += 1;
            entry.1 += (1.0 + f64::from(*count)).ln();
            *entry.2.entry(word).or_default() += count;
        }
    }
    let document_count = facts.len() as f64;
    let fewest = if facts.len() > 20 { 2 } else { 1 };
    let scored = spread.values().filter(|(documents, ..)| *documents >= fewest);
    let mut scored: Vec<(f64, &str)> = scored
        .filter_map(|(documents, weight, spellings)| {
            let spelled =
                spellings.iter().max_by_key(|(word, count)| (**count, std::cmp::Reverse(**word)))?;
            let rare = (1.0 + document_count / f64::from(*documents)).ln();
            Some((weight * rare, *spelled.0))
        })
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    let (names, words): (Vec<_>, Vec<_>) =
        scored.into_iter().map(|(_, word)| word.to_owned()).partition(|word| is_name(word));
    (words.into_iter().take(24).collect(), names.into_iter().take(16).collect())
}

fn is_name(word: &str) -> bool {
    let camel_case =
        word.chars().zip(word.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    camel_case || word.trim_matches('_').contains('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_terms_skip_common_words() {
        let found = frequent_terms(
            "The tokenizer splits text; the tokenizer and read_file, readFile and the the 12 12",
        );
        let words: Vec<&str> = found.iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, ["readFile", "read_file", "splits", "text", "tokenizer"]);
    }

    #[test]
    fn words_and_identifiers_are_separated() {
        let facts = |path: &str, text: &str| GuideFacts {
            terms: frequent_terms(text),
            path: path.into(),
            ..GuideFacts::default()
        };
        let (words, names) =
            repository_terms(&[facts("a", "vector vector index_file"), facts("b", "garden vector")]);
        assert!(words.contains(&"vector".to_owned()) && words.contains(&"garden".to_owned()));
        assert_eq!(names, ["index_file"]);
    }
}

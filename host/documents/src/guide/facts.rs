//! Facts of one document for the guide.

use crate::{
    clean::{one_line, prefix},
    headings::headings,
    kinds::{self, Kind},
};

use super::terms;

const MAX_COUNTED_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GuideFacts {
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) begins: String,
    pub(crate) headings: Vec<String>,
    /// Most frequent significant words with their counts, sorted.
    pub(crate) terms: Vec<(String, u32)>,
    pub(crate) is_code: bool,
}

impl GuideFacts {
    pub(crate) fn new(path: &str, text: &str, titles: &[String]) -> Self {
        let kind = kinds::kind(path).unwrap_or(Kind::Plain);
        let is_code = matches!(kind, Kind::Source | Kind::Data);
        let head = prefix(text, MAX_COUNTED_BYTES);
        Self {
            path: path.to_owned(),
            title: titles.first().cloned().unwrap_or_default(),
            begins: if kind == Kind::Data { String::new() } else { first_sentence(head, is_code) },
            headings: titles.iter().skip(1).take(8).cloned().collect(),
            terms: terms::frequent_terms(head),
            is_code,
        }
    }

    pub(super) fn from_stored(path: &str, text: &str) -> Self {
        let head = prefix(text, MAX_COUNTED_BYTES);
        let lines: Vec<&str> = head.split_inclusive('\n').collect();
        let found = headings(kinds::kind(path).unwrap_or(Kind::Plain), &lines);
        let titles: Vec<String> = found.into_iter().take(20).map(|heading| heading.title).collect();
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
        let said = if is_code && comment.len() < line.len() { comment.trim() } else { line };
        let prose = !fenced && is_prose(said) && (!is_code || comment.len() < line.len());
        if prose && !(is_code && said.starts_with('[')) {
            sentence = sentence + " " + said;
            if sentence.len() > 400 {
                break;
            }
        } else if !sentence.is_empty() {
            break;
        }
    }
    let line = one_line(&sentence, 400);
    let end = line.match_indices(". ").map(|(at, _)| at + 1).find(|at| *at > 20);
    one_line(&line[..end.unwrap_or(line.len())], 160)
}

fn is_prose(line: &str) -> bool {
    let markup = line.starts_with(['#', '<', '|', '!', '=', '>', ':', '{', '+', '.'])
        || line.starts_with("[!")
        || line.starts_with("---");
    let letters = line.chars().filter(|c| c.is_alphabetic()).count();
    let underlined = line.len() >= 3 && letters == 0;
    !markup && !underlined && letters * 2 > line.chars().count() && line.split_whitespace().count() >= 3
}

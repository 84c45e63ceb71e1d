//! Questions about real results that a digest of a thousand tokens must answer.
//!
//! `fixtures/digest` has results of commands on a Debian machine and two synthetic ones, each with questions that were
//! written before the digest was tuned. A `lookup` question is the query of the digest. A question is answered if one
//! line of the digest has all the words that an answer needs.

#![allow(clippy::unwrap_used)]

use std::{fs, path::PathBuf};

use serde::Deserialize;

use crate::digest::digest;

#[derive(Deserialize)]
struct FixtureQuestion {
    result: String,
    kind: String,
    ask: String,
    line: Vec<String>,
}

pub(super) fn fixture(name: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/digest").join(name)).unwrap()
}

pub(super) fn has(line: &str, word: &str) -> bool {
    let part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let whole = |(at, _): (usize, &str)| {
        let first = word.starts_with(char::is_alphanumeric);
        let last = word.ends_with(char::is_alphanumeric);
        !(first && part(line[..at].chars().next_back())
            || last && part(line[at + word.len()..].chars().next()))
    };
    line.match_indices(word).any(whole)
}

#[test]
fn plain_questions_are_answered_from_a_thousand_tokens() {
    let questions: Vec<FixtureQuestion> = serde_json::from_str(&fixture("questions.json")).unwrap();
    let mut open = Vec::new();
    for question in &questions {
        let query = if question.kind == "lookup" { question.ask.as_str() } else { "" };
        let result = digest(&fixture(&question.result), query, 1000).unwrap();
        assert!(result.tokens_out <= 1000);
        let answers = |line: &str| question.line.iter().all(|word| has(line, word));
        if !result.text.lines().any(answers) {
            open.push(format!("{} ({}): {}", question.result, question.kind, question.ask));
        }
    }
    assert_eq!(questions.len(), 40);
    assert!(open.len() <= 2, "{} not answered:\n{}", open.len(), open.join("\n"));
}

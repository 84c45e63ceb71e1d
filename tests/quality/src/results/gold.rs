//! Results with questions, and the facts that an answer must contain.

use std::{fs, path::Path};

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::sets::lines;

#[derive(Clone, Deserialize)]
pub(super) struct Gold {
    pub(super) file: String,
    pub(super) kind: String,
    /// True if nothing may be tuned on it.
    pub(super) held_out: bool,
    sha256: String,
    pub(super) questions: Vec<Asked>,
    #[serde(skip)]
    pub(super) text: String,
}

#[derive(Clone, Deserialize)]
pub(super) struct Asked {
    pub(super) q: String,
    #[serde(rename = "type")]
    type_: String,
    /// Facts; the strings of each must be close together.
    facts: Vec<Vec<String>>,
    /// Names that a jq program with the answer must use; empty if no program can answer.
    pub(super) keys: Vec<String>,
}

/// Maximum distance in bytes between the strings of a fact.
const CLOSE: usize = 400;

const SUMMARY: usize = 6;

/// Reads all results of a directory. Fails if a file does not match its SHA-256.
pub(super) fn read(folder: &Path) -> Result<Vec<Gold>> {
    let mut golds = lines::<Gold>(&folder.join("gold.jsonl"))?;
    for gold in &mut golds {
        let bytes = fs::read(folder.join(&gold.file)).with_context(|| gold.file.clone())?;
        ensure!(crate::documents::hex(&bytes) == gold.sha256, "{} is a different version", gold.file);
        gold.text = String::from_utf8(bytes)?;
    }
    Ok(golds)
}

impl Asked {
    /// Returns the number of facts, and how many of them a text contains.
    pub(super) fn facts(&self, text: &Searched) -> (usize, usize) {
        (self.facts.len(), self.facts.iter().filter(|fact| text.holds(fact)).count())
    }

    pub(super) fn is_answered(&self, text: &Searched) -> bool {
        let (all, held) = self.facts(text);
        if self.type_ == "summary" { held * 10 >= all * SUMMARY } else { held == all }
    }

    pub(super) fn answer(&self) -> String {
        self.facts.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }
}

/// A text normalized for fact search: no tags or code marks, single spaces, and no thousands separators.
pub(super) struct Searched(String);

impl Searched {
    pub(super) fn of(text: &str) -> Self {
        let mut plain = String::with_capacity(text.len());
        let mut tag = false;
        let markup = text.contains("</");
        let mut letters = text.chars().peekable();
        while let Some(letter) = letters.next() {
            let next = letters.peek().copied().unwrap_or(' ');
            tag = (tag && letter != '>')
                || (markup && letter == '<' && (next.is_ascii_alphabetic() || next == '/'));
            let digit = plain.ends_with(|last: char| last.is_ascii_digit());
            match letter {
                _ if tag => {}
                '>' if markup => {}
                '`' | '\\' => {}
                ',' if digit && next.is_ascii_digit() => {}
                _ if letter.is_whitespace() => {
                    if !plain.ends_with(' ') {
                        plain.push(' ');
                    }
                }
                _ => plain.push(letter),
            }
        }
        Self(plain)
    }

    pub(super) fn names(&self, word: &str) -> bool {
        self.places(word).next().is_some()
    }

    fn holds(&self, fact: &[String]) -> bool {
        let wanted: Vec<String> = fact.iter().map(|part| Self::of(part).0).collect();
        let Some(rarest) = wanted.iter().min_by_key(|part| self.places(part).count()) else { return false };
        self.places(rarest).any(|at| {
            let from = self.0.floor_char_boundary(at.saturating_sub(CLOSE));
            let to = self.0.ceil_char_boundary((at + rarest.len() + CLOSE).min(self.0.len()));
            let near = Self(self.0[from..to].to_owned());
            wanted.iter().all(|part| near.places(part).next().is_some())
        })
    }

    /// Returns the positions of a string as a whole word: 12 is not in 312, nor `map` in `remap`.
    fn places<'a>(&'a self, part: &'a str) -> impl Iterator<Item = usize> + 'a {
        let edge = |inside: Option<char>, outside: Option<char>| match (inside, outside) {
            (Some(inside), Some(outside)) => {
                !(inside.is_alphanumeric() && outside.is_alphanumeric())
                    || inside.is_ascii_digit() != outside.is_ascii_digit()
            }
            _ => true,
        };
        self.0.match_indices(part).map(|(at, _)| at).filter(move |at| {
            let (before, after) = (&self.0[..*at], &self.0[at + part.len()..]);
            edge(part.chars().next(), before.chars().next_back())
                && edge(part.chars().next_back(), after.chars().next())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(type_: &str, facts: &[&[&str]]) -> Asked {
        let facts = facts.iter().map(|fact| fact.iter().map(|part| (*part).to_owned()).collect()).collect();
        Asked { q: String::new(), type_: type_.to_owned(), facts, keys: Vec::new() }
    }

    #[test]
    fn a_number_is_found_as_a_whole_and_with_its_commas() {
        let asked = asked("count", &[&["upgrade", "1046"]]);
        assert!(asked.is_answered(&Searched::of("status `upgrade`: 1,046 times")));
        for text in ["upgrade 11046", "upgrade 104", "1046", "upgraded 1046"] {
            assert!(!asked.is_answered(&Searched::of(text)), "{text}");
        }
        assert!(!asked.is_answered(&Searched::of(&format!("upgrade {} 1046", "x ".repeat(CLOSE)))));
    }

    #[test]
    fn six_facts_in_ten_are_a_summary() {
        let asked = asked("summary", &[&["one"], &["two"], &["three"], &["four"], &["five"]]);
        assert!(asked.is_answered(&Searched::of("one, two and <b>three</b>")));
        assert!(!asked.is_answered(&Searched::of("one and two")));
        assert_eq!(asked.facts(&Searched::of("five, one")), (5, 2));
    }

    #[test]
    fn the_fixtures_answer_their_own_questions() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/results");
        let golds = read(&folder).unwrap();
        assert!(golds.len() >= 15, "{}", golds.len());
        let lookups = |gold: &Gold| {
            let text = Searched::of(&gold.text);
            let asked =
                gold.questions.iter().filter(|asked| asked.type_ == "lookup" && !asked.q.contains("line"));
            asked.map(|asked| (asked.q.clone(), asked.is_answered(&text))).collect::<Vec<_>>()
        };
        let unanswered: Vec<_> = golds.iter().flat_map(lookups).filter(|(_, answered)| !answered).collect();
        assert!(unanswered.is_empty(), "{unanswered:?}");
    }
}

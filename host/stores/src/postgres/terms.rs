//! Converts text to index terms and queries. Terms are lowercase alphanumerics, so they do not depend on the server's
//! text parser.

use std::{borrow::Cow, collections::HashMap};

use gatehouse_core::search::{name::name_key, script, script::ScriptRun, variants};

/// Bytes of indexed terms per page or document. PostgreSQL limits a `tsvector` to 1 MiB: each word takes its letters
/// plus a few bytes, and each position two more.
pub(super) const MAX_TERMS: usize = 700 * 1024;

/// Characters of a word. Longer words are cut, both in texts and in queries.
const MAX_WORD: usize = 64;

/// Characters of a name. Index rows cannot be much longer.
const MAX_NAME: usize = 200;

/// Bytes per distinct word in addition to its letters.
const WORD_OVERHEAD_BYTES: usize = 8;

/// Positions per word that PostgreSQL stores.
const MAX_PLACES: usize = 256;

/// Replaces NUL, which PostgreSQL cannot store, with a character of the same length.
pub(super) fn storable(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{1A}").into() } else { text.into() }
}

/// Returns the distinct comparison keys of names, without those too long for an index row.
pub(super) fn name_keys(names: [&str; 3]) -> Vec<String> {
    let mut keys: Vec<String> = names.into_iter().map(name_key).collect();
    keys.retain(|key| !key.is_empty() && key.chars().count() <= MAX_NAME);
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Appends the parts of compound identifiers to a text.
pub(super) fn with_variants(text: &str) -> String {
    format!("{text} {}", variants(text))
}

/// Remaining index space of a page or a document.
pub(super) struct TermBudget {
    left: usize,
    places: HashMap<String, usize>,
    words: usize,
    /// True if some words did not fit.
    pub(super) cut: bool,
}

impl TermBudget {
    pub(super) fn new() -> Self {
        Self { left: MAX_TERMS, places: HashMap::new(), words: 0, cut: false }
    }

    pub(super) fn length(&self) -> i32 {
        i32::try_from(self.words).unwrap_or(i32::MAX)
    }

    /// Returns the words of a text, separated by spaces, until the budget is used up.
    pub(super) fn take_terms(&mut self, text: &str) -> String {
        let mut taken = String::new();
        let (separated, grams) = (script::separate_scripts(text), script::grams(text));
        let words = separated.split(|c: char| !c.is_alphanumeric()).filter(|word| !script::has_other(word));
        for word in words.chain(grams.split(' ')).filter(|word| !word.is_empty()) {
            let word = lower(word);
            let places = self.places.get(&word).copied().unwrap_or(0);
            let cost = match places {
                0 => word.len() + WORD_OVERHEAD_BYTES,
                MAX_PLACES.. => 0,
                _ => 2,
            };
            if cost > self.left {
                self.cut = true;
                continue;
            }
            self.left -= cost;
            self.words += 1;
            taken.push_str(&word);
            taken.push(' ');
            self.places.insert(word, places + 1);
        }
        taken
    }
}

fn lower(word: &str) -> String {
    word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).take(MAX_WORD).collect()
}

/// Normalizes a query word. `None` if nothing remains.
pub(super) fn index_form(word: &str) -> Option<String> {
    Some(lower(word)).filter(|word| !word.is_empty())
}

/// Returns the query terms of a run in another script.
pub(super) fn index_pieces(stretch: &ScriptRun) -> Vec<String> {
    let beginning = if stretch.beginning { ":*" } else { "" };
    stretch.pieces.iter().filter_map(|piece| Some(format!("{}{beginning}", index_form(piece)?))).collect()
}

/// Returns a query that matches texts that contain the run.
pub(super) fn occurs(stretch: &ScriptRun) -> String {
    index_pieces(stretch).join(if stretch.any { " | " } else { " & " })
}

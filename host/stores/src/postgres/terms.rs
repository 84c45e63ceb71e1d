//! What the index holds of a text, and how it is asked for it. Both sides are letters and digits alone, in
//! lower case, so that nothing depends on how the server takes texts apart.

use std::collections::HashMap;

use gatehouse_core::search::{script, script::ScriptRun, variants};

/// Bytes of the terms of a page or a document that are indexed. The server holds a mebibyte for a row; a word takes its letters
/// and some bytes beside, and each of its places two more.
pub(super) const MAX_TERMS: usize = 700 * 1024;

/// Longer words are cut, as those of questions are.
const MAX_WORD: usize = 64;

/// Bytes that a different word takes beside its letters.
const OVERHEAD: usize = 8;

/// Places of a word that the server keeps.
const MAX_PLACES: usize = 256;

/// A text with its identifiers taken apart beside it.
pub(super) fn with_variants(text: &str) -> String {
    format!("{text} {}", variants(text))
}

/// What is left of the room that a page or a document has in the index.
pub(super) struct TermBudget {
    left: usize,
    places: HashMap<String, usize>,
    words: usize,
    /// Whether there is more than is indexed.
    pub(super) cut: bool,
}

impl TermBudget {
    /// All of it.
    pub(super) fn new() -> Self {
        Self { left: MAX_TERMS, places: HashMap::new(), words: 0, cut: false }
    }

    /// How many words were taken.
    pub(super) fn length(&self) -> i32 {
        i32::try_from(self.words).unwrap_or(i32::MAX)
    }

    /// The words of a text, with a space between them, as far as there is budget.
    pub(super) fn take_terms(&mut self, text: &str) -> String {
        let mut kept = String::new();
        let (separated, grams) = (script::separate_scripts(text), script::grams(text));
        let words = separated.split(|c: char| !c.is_alphanumeric()).filter(|word| !script::has_other(word));
        for word in words.chain(grams.split(' ')).filter(|word| !word.is_empty()) {
            let word = lower(word);
            let places = self.places.get(&word).copied().unwrap_or(0);
            let cost = match places {
                0 => word.len() + OVERHEAD,
                MAX_PLACES.. => 0,
                _ => 2,
            };
            if cost > self.left {
                self.cut = true;
                continue;
            }
            self.left -= cost;
            self.words += 1;
            kept.push_str(&word);
            kept.push(' ');
            self.places.insert(word, places + 1);
        }
        kept
    }
}

fn lower(word: &str) -> String {
    word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).take(MAX_WORD).collect()
}

/// A word of a question as the index is asked for it; none where nothing is left of it.
pub(super) fn index_form(word: &str) -> Option<String> {
    Some(lower(word)).filter(|word| !word.is_empty())
}

/// The pieces of a stretch of another script as the index is asked for each.
pub(super) fn index_pieces(stretch: &ScriptRun) -> Vec<String> {
    let beginning = if stretch.beginning { ":*" } else { "" };
    stretch.pieces.iter().filter_map(|piece| Some(format!("{}{beginning}", index_form(piece)?))).collect()
}

/// What the index is asked to know whether a stretch occurs.
pub(super) fn occurs(stretch: &ScriptRun) -> String {
    index_pieces(stretch).join(if stretch.any { " | " } else { " & " })
}

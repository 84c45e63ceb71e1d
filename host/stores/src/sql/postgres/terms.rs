//! Converts text to index terms and queries. Terms are lowercase alphanumerics, so they do not depend on the server's
//! text parser.

use std::collections::HashMap;

use gatehouse_core::search::{script, script::ScriptRun, variants};

/// Bytes of indexed terms per page or document. PostgreSQL limits a `tsvector` to 1 MiB: each word takes its letters
/// plus a few bytes, and each position two more.
pub(super) const MAX_TERMS: usize = 700 * 1024;

/// Characters of a word. Longer words are cut, both in texts and in queries.
const MAX_WORD: usize = 64;

/// Bytes per distinct word in addition to its letters.
const WORD_OVERHEAD_BYTES: usize = 8;

/// Positions per word that PostgreSQL stores.
const MAX_PLACES: usize = 256;

/// Appends the parts of compound identifiers to a text.
pub(crate) fn with_variants(text: &str) -> String {
    format!("{text} {}", variants(text))
}

/// Index terms of a page, a document or an artifact.
pub(crate) struct IndexTerms<const N: usize> {
    /// Terms of each text, in order.
    pub(crate) texts: [String; N],
    /// Number of terms.
    pub(crate) length: i32,
}

impl<const N: usize> IndexTerms<N> {
    /// Extracts the terms of texts, the most significant first, up to a limit. `what` names their owner for the log.
    pub(crate) fn new(what: &str, texts: [&str; N]) -> Self {
        let mut budget = TermBudget { left: MAX_TERMS, places: HashMap::new(), words: 0, cut: false };
        let texts = texts.map(|text| budget.take_terms(text));
        if budget.cut {
            tracing::warn!(what, "text is too long; not all of its words are indexed");
        }
        Self { texts, length: i32::try_from(budget.words).unwrap_or(i32::MAX) }
    }
}

/// Remaining index space.
struct TermBudget {
    left: usize,
    places: HashMap<String, usize>,
    words: usize,
    /// True if some words did not fit.
    cut: bool,
}

impl TermBudget {
    /// Returns the words of a text, separated by spaces, until the budget is used up.
    fn take_terms(&mut self, text: &str) -> String {
        let mut terms = String::new();
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
            terms.push_str(&word);
            terms.push(' ');
            self.places.insert(word, places + 1);
        }
        terms
    }
}

fn lower(word: &str) -> String {
    word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).take(MAX_WORD).collect()
}

/// Normalizes a query word. `None` if nothing remains.
pub(crate) fn index_form(word: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use gatehouse_core::search::SearchQuery;

    use super::*;

    fn terms(text: &str) -> (String, i32) {
        let IndexTerms { texts: [terms], length } = IndexTerms::new("page 'X'", [text]);
        (terms, length)
    }

    #[test]
    fn only_lower_case_words_are_indexed() {
        assert_eq!(terms(&with_variants("GRPOTrainer")).0, "grpotrainer grpo trainer ");
        assert_eq!(terms("it's <b>50% OF</b> x_y'; DROP"), ("it s b 50 of b x y drop ".to_owned(), 9));
        let both = IndexTerms::new("page 'X'", ["one two", "Home Cooking"]);
        assert_eq!((both.texts[1].as_str(), both.length), ("home cooking ", 4));
    }

    #[test]
    fn other_scripts_are_indexed_and_queried_in_pieces() {
        let (terms, _) = terms("导出GGUF格式");
        assert!(terms.starts_with("gguf 导出 "), "{terms}");
        let query = SearchQuery::new("导出 出");
        assert_eq!(query.stretches.iter().map(occurs).collect::<Vec<_>>(), ["导出", "出:*"]);
        let query = SearchQuery::new("图片文字 модель");
        assert_eq!(
            query.stretches.iter().map(occurs).collect::<Vec<_>>(),
            ["图片 | 片文 | 文字", "мод & оде & дел & ель"]
        );
    }

    #[test]
    fn terms_beyond_the_limit_are_cut() {
        let words: String = (0..200_000).map(|n| format!("word{n} ")).collect();
        let (cut, length) = terms(&words);
        assert!(cut.len() < MAX_TERMS && cut.starts_with("word0 word1 ") && length < 200_000);
        assert_eq!(terms(&"dough ".repeat(300_000)).1, 300_000);
    }
}

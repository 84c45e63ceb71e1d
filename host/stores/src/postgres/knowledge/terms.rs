//! What the index holds of a text, and how it is asked for it. Both sides are letters and digits alone, in
//! lower case, so that nothing depends on how the server takes texts apart.

use std::collections::HashMap;

use gatehouse_core::search::{script, script::ScriptRun, variants};

use crate::wiki::record::Record;

/// Bytes of a page's terms that are indexed. The server holds a mebibyte for a page; a word takes its letters
/// and some bytes beside, and each of its places two more.
const MAX_TERMS: usize = 700 * 1024;

/// Longer words are cut, as those of questions are.
const MAX_WORD: usize = 64;

/// Bytes that a different word takes beside its letters.
const OVERHEAD: usize = 8;

/// Places of a word that the server keeps.
const MAX_PLACES: usize = 256;

/// What is indexed of a page, most telling part first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Terms {
    pub(super) title: String,
    pub(super) overview: String,
    pub(super) domains: String,
    pub(super) content: String,
    /// How many words these are.
    pub(super) length: i32,
    /// Whether the page has more than is indexed.
    pub(super) cut: bool,
}

impl Terms {
    pub(super) fn of(page: &Record) -> Self {
        let mut budget = TermBudget { left: MAX_TERMS, places: HashMap::new(), words: 0, cut: false };
        let named = |text: &str| format!("{text} {}", variants(text));
        let title = budget.take(&named(&page.title));
        let overview = budget.take(&named(&page.overview));
        let domains = budget.take(&page.domains.join(", "));
        let content = budget.take(&page.content);
        let length = i32::try_from(budget.words).unwrap_or(i32::MAX);
        Self { title, overview, domains, content, length, cut: budget.cut }
    }
}

/// What is left of the room that a page has in the index.
struct TermBudget {
    left: usize,
    places: HashMap<String, usize>,
    words: usize,
    cut: bool,
}

impl TermBudget {
    /// The words of a text, with a space between them, as far as there is budget.
    fn take(&mut self, text: &str) -> String {
        let mut kept = String::new();
        let (separated, grams) = (script::separated(text), script::grams(text));
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

#[cfg(test)]
mod tests {
    use gatehouse_core::{ports::knowledge::PageType, search::Query};

    use super::*;

    fn page(title: &str, content: &str) -> Record {
        Record {
            id: "Principle/X".into(),
            page_type: PageType::Principle,
            title: title.into(),
            overview: String::new(),
            content: content.into(),
            domains: vec!["Home Cooking".into()],
            sources: vec![],
            links: vec![],
            last_updated: None,
            hash: String::new(),
            origin: None,
        }
    }

    #[test]
    fn only_lower_case_words_are_indexed() {
        let terms = Terms::of(&page("GRPOTrainer", "it's <b>50% OF</b> x_y'; DROP"));
        assert_eq!(
            (terms.title.as_str(), terms.domains.as_str()),
            ("grpotrainer grpo trainer ", "home cooking ")
        );
        assert_eq!(terms.content, "it s b 50 of b x y drop ");
        assert_eq!((terms.length, terms.cut), (14, false));
    }

    #[test]
    fn other_scripts_are_indexed_in_pieces_and_asked_for_in_the_same() {
        let terms = Terms::of(&page("x", "导出GGUF格式"));
        assert!(terms.content.starts_with("gguf 导出 "), "{}", terms.content);
        let query = Query::of("导出 出");
        assert_eq!(query.stretches.iter().map(occurs).collect::<Vec<_>>(), ["导出", "出:*"]);
        let query = Query::of("图片文字 модель");
        assert_eq!(
            query.stretches.iter().map(occurs).collect::<Vec<_>>(),
            ["图片 | 片文 | 文字", "мод & оде & дел & ель"]
        );
    }

    #[test]
    fn what_does_not_fit_the_index_is_left_out_and_said() {
        let words: String = (0..200_000).map(|n| format!("word{n} ")).collect();
        let terms = Terms::of(&page("x", &words));
        assert!(terms.cut && terms.content.len() < MAX_TERMS && terms.content.starts_with("word0 word1 "));
        let same = Terms::of(&page("x", &"dough ".repeat(300_000)));
        assert!(!same.cut);
    }
}

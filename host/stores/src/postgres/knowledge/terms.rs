//! Index terms of a page.

use super::super::terms::{TermBudget, with_variants};
use crate::wiki::record::PageRecord;

/// Terms of a page by label, most significant first.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageTerms {
    pub(super) title: String,
    pub(super) overview: String,
    pub(super) domains: String,
    pub(super) content: String,
    pub(super) length: i32,
    pub(super) cut: bool,
}

impl PageTerms {
    pub(super) fn from_record(page: &PageRecord) -> Self {
        let mut budget = TermBudget::new();
        let title = budget.take_terms(&with_variants(&page.title));
        let overview = budget.take_terms(&with_variants(&page.overview));
        let domains = budget.take_terms(&page.domains.join(", "));
        let content = budget.take_terms(&page.content);
        Self { title, overview, domains, content, length: budget.length(), cut: budget.cut }
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_core::{ports::knowledge::PageType, search::SearchQuery};

    use super::{
        super::super::terms::{MAX_TERMS, occurs},
        *,
    };

    fn page(title: &str, content: &str) -> PageRecord {
        PageRecord {
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
        let terms = PageTerms::from_record(&page("GRPOTrainer", "it's <b>50% OF</b> x_y'; DROP"));
        assert_eq!(
            (terms.title.as_str(), terms.domains.as_str()),
            ("grpotrainer grpo trainer ", "home cooking ")
        );
        assert_eq!(terms.content, "it s b 50 of b x y drop ");
        assert_eq!((terms.length, terms.cut), (14, false));
    }

    #[test]
    fn other_scripts_are_indexed_in_pieces_and_asked_for_in_the_same() {
        let terms = PageTerms::from_record(&page("x", "导出GGUF格式"));
        assert!(terms.content.starts_with("gguf 导出 "), "{}", terms.content);
        let query = SearchQuery::new("导出 出");
        assert_eq!(query.stretches.iter().map(occurs).collect::<Vec<_>>(), ["导出", "出:*"]);
        let query = SearchQuery::new("图片文字 модель");
        assert_eq!(
            query.stretches.iter().map(occurs).collect::<Vec<_>>(),
            ["图片 | 片文 | 文字", "мод & оде & дел & ель"]
        );
    }

    #[test]
    fn what_does_not_fit_the_index_is_left_out_and_said() {
        let words: String = (0..200_000).map(|n| format!("word{n} ")).collect();
        let terms = PageTerms::from_record(&page("x", &words));
        assert!(terms.cut && terms.content.len() < MAX_TERMS && terms.content.starts_with("word0 word1 "));
        let same = PageTerms::from_record(&page("x", &"dough ".repeat(300_000)));
        assert!(!same.cut);
    }
}

//! Search of documents in Chinese, Japanese, German, Russian and Arabic, by words alone.

use std::collections::BTreeMap;

use gatehouse_core::ports::documents::SearchMode;
use serde::Deserialize;

use super::{add, file, find, paths, shelf};
use crate::engines::DocumentFixture;

#[derive(Deserialize)]
struct LanguageSet {
    pages: Vec<LanguagePage>,
    queries: Vec<LanguageQuestion>,
}

#[derive(Deserialize)]
struct LanguagePage {
    title: String,
    overview: String,
    content: String,
}

#[derive(Deserialize)]
struct LanguageQuestion {
    language: String,
    q: String,
    title: String,
}

/// Questions that use other words than the text, as people do. tests/fixtures/queries/README.md describes them.
pub(crate) async fn documents_in_other_languages_are_found_by_other_words<F: DocumentFixture>(engine: F) {
    let text = include_str!("../../../../../tests/fixtures/queries/languages/pages.json");
    let set: LanguageSet = serde_json::from_str(text).unwrap();
    let library = shelf(&engine).await;
    let files = set.pages.iter().map(|page| {
        file(
            &format!("{}.md", page.title),
            &format!("# {}\n{}\n\n{}", page.title, page.overview, page.content),
        )
    });
    add(&library, files.collect()).await;
    let mut found: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for question in &set.queries {
        let results = find(&library, &question.q, SearchMode::Text).await;
        let hit = paths(&results).iter().take(5).any(|path| *path == format!("{}.md", question.title));
        let (hits, all) = found.entry(&question.language).or_default();
        (*hits, *all) = (*hits + u32::from(hit), *all + 1);
    }
    assert_eq!(found.len(), 5);
    assert!(found.values().all(|(hits, all)| hits * 2 >= *all), "{found:?}");
}

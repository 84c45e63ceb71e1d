//! Search in other languages: recall of tools and pages that were made for this, and the verdict on unrelated questions.

use std::{collections::BTreeMap, time::Duration};

use anyhow::{Result, ensure};
use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{PageDraft, PageFilters, PageType},
};
use serde::Deserialize;
use serde_json::json;

use crate::{
    Places, Results,
    catalogue::{Asking, Catalogue},
    knowledge,
    recall::Recall,
    sets::{self, Question, Tool},
};

/// Languages with scripts without spaces, and the others.
pub(crate) const SPACELESS: [&str; 2] = ["zh", "ja"];
pub(crate) const SPACED: [&str; 3] = ["de", "ru", "ar"];

const LIMIT: usize = 10;

#[derive(Deserialize)]
pub(crate) struct LanguageSet {
    pub(crate) docs: Vec<Tool>,
    pub(crate) queries: Vec<Question>,
    pub(crate) off_topic: Vec<String>,
}

pub(crate) fn read(places: &Places, language: &str) -> Result<LanguageSet> {
    sets::json(&places.queries.join(format!("languages/{language}.json")))
}

pub(crate) fn run(places: &Places, results: &mut Results) -> Result<()> {
    for language in SPACELESS.into_iter().chain(SPACED) {
        let set = read(places, language)?;
        let catalogue = Catalogue::of(&set.docs);
        let mut recall = Recall::default();
        for question in &set.queries {
            recall.add(&catalogue.found(&question.q, LIMIT), &catalogue.once(&question.rel));
        }
        let name = format!("tools in {language}");
        results.rows.push(recall.row(&name, set.docs.len(), "gateway"));
        let unrelated: Vec<Asking> = set.off_topic.into_iter().map(|q| Asking { q }).collect();
        results.fits.push(json!(catalogue.fits(&name, set.queries.iter(), unrelated.iter())));
    }
    run_over_english(places, results)
}

/// The same questions in several languages, over tools that are described in English.
#[derive(Deserialize)]
struct OverEnglish {
    queries: Vec<TranslatedQuestion>,
    off_topic: Vec<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct TranslatedQuestion {
    rel: Vec<String>,
    #[serde(flatten)]
    by_language: BTreeMap<String, String>,
}

/// Measures questions in other languages over English tools. The words of the search were not tuned on the odd ones.
fn run_over_english(places: &Places, results: &mut Results) -> Result<()> {
    let file = places.data.as_ref().map(|data| data.join("tool-search/livemcp_step.json"));
    let Some(file) = file.filter(|file| file.is_file()) else {
        results.skipped.push("questions in other languages over English tools: set not found".into());
        return Ok(());
    };
    let catalogue = Catalogue::of(&sets::tools(&file)?.docs);
    let set: OverEnglish = sets::json(&places.queries.join("languages/over-english.json"))?;
    for language in ["en", "de", "es", "ja", "zh"] {
        let questions: Vec<Question> = set
            .queries
            .iter()
            .map(|question| Question { q: question.by_language[language].clone(), rel: question.rel.clone() })
            .collect();
        for (half, first) in [("", 0), (", held out", 1)] {
            let mut recall = Recall::default();
            for question in questions.iter().skip(first).step_by(1 + first) {
                recall.add(&catalogue.found(&question.q, LIMIT), &catalogue.once(&question.rel));
            }
            let name = format!("English tools in {language}{half}");
            results.rows.push(recall.row(&name, catalogue.len(), "gateway"));
        }
        let unrelated: Vec<Asking> =
            set.off_topic.iter().map(|texts| Asking { q: texts[language].clone() }).collect();
        let name = format!("English tools in {language}");
        results.fits.push(catalogue.fits(&name, questions.iter(), unrelated.iter()));
    }
    Ok(())
}

#[derive(Deserialize)]
struct PageSet {
    pages: Vec<PageText>,
    queries: Vec<PageQuestion>,
}

#[derive(Deserialize)]
struct PageText {
    title: String,
    overview: String,
    content: String,
}

#[derive(Deserialize)]
struct PageQuestion {
    language: String,
    q: String,
    title: String,
}

/// Measures the search of wiki pages in all languages at once.
pub(crate) async fn run_pages(places: &Places, results: &mut Results) -> Result<()> {
    let set: PageSet = sets::json(&places.queries.join("languages/pages.json"))?;
    let folder = tempfile::tempdir()?;
    let graph = knowledge::empty_graph(&folder.path().join("pages.db"));
    let drafts = set.pages.iter().map(|page| PageDraft {
        title: page.title.clone(),
        page_type: PageType::Principle,
        overview: page.overview.clone(),
        content: page.content.clone(),
        domains: Vec::new(),
        sources: Vec::new(),
        links: Vec::new(),
    });
    graph.upsert(drafts.collect()).await.map_err(knowledge::to_error)?;
    ensure!(graph.wait_for_vectors(Duration::from_secs(60)).await, "the pages got no vectors");
    for language in SPACELESS.into_iter().chain(SPACED) {
        let mut recall = Recall::default();
        for question in set.queries.iter().filter(|question| question.language == language) {
            let found = graph
                .search(&question.q, &PageFilters::default(), LIMIT)
                .await
                .map_err(knowledge::to_error)?;
            let found: Vec<String> = found.hits.into_iter().map(|hit| hit.page.title).collect();
            recall.add(&found, std::slice::from_ref(&question.title));
        }
        results.rows.push(recall.row(&format!("pages in {language}"), set.pages.len(), "both"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn places() -> Places {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Places {
            queries: root.join("tests/fixtures/queries"),
            sample_wiki: root.join("docs/sample-wiki"),
            data: None,
            documents: Vec::new(),
        }
    }

    #[tokio::test]
    async fn questions_in_other_languages_find_their_pages() {
        let mut results = Results::default();
        run_pages(&places(), &mut results).await.unwrap();
        for row in &results.rows {
            assert!(row["recall@5"].as_f64().is_some_and(|recall| recall >= 0.5), "{row}");
        }
    }

    #[test]
    fn questions_in_other_scripts_find_their_tools() {
        let mut results = Results::default();
        run(&places(), &mut results).unwrap();
        for row in &results.rows {
            assert!(row["recall@5"].as_f64().is_some_and(|recall| recall >= 0.4), "{row}");
        }
        for fit in &results.fits {
            let [wrong, all, own_none, own] =
                ["elsewhere_fits", "elsewhere", "own_nothing", "own"].map(|key| fit[key].as_f64().unwrap());
            assert!(2.0 * wrong <= all && 2.0 * own_none <= own, "{fit}");
        }
    }
}

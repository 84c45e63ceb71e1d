//! Knowledge search: the engine with and without a model, and the model alone.

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use anyhow::{Result, anyhow, ensure};
use gatehouse_core::{
    ports::{
        Clock, Embedder, KnowledgeGraph as _,
        knowledge::{IndexOptions, PageFilters, PageLookup},
    },
    search::{VectorBlock, embedded_text},
};
use gatehouse_stores::{KnowledgeConfig, WikiKnowledge, WikiRoots};
use gatehouse_text::LocalEmbedder;

use crate::{
    Places, Results,
    recall::{Recall, cpu_time},
    sets::{self, Question},
};

const LIMIT: usize = 10;

struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> u64 {
        1_767_960_000_000
    }
}

pub(crate) async fn run(places: &Places, results: &mut Results) -> Result<()> {
    let sample = sets::questions(&places.queries.join("sample.jsonl"))?;
    measure("sample wiki", &places.sample_wiki, &sample, results).await?;
    let wiki = sets::questions(&places.queries.join("wiki.jsonl"))?;
    match places.data.as_ref().map(|data| data.join("wiki")).filter(|folder| folder.is_dir()) {
        Some(folder) => measure("wiki", &folder, &wiki, results).await,
        None => {
            results.skipped.push("wiki: directory with 99 pages not found".to_owned());
            Ok(())
        }
    }
}

async fn measure(set: &str, wiki: &Path, questions: &[Question], results: &mut Results) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let words = graph(&folder.path().join("words.db"), wiki, None).await?;
    let both = graph(&folder.path().join("both.db"), wiki, Some(Arc::new(LocalEmbedder))).await?;
    ensure!(both.wait_for_vectors(Duration::from_secs(60)).await, "the pages of {set} got no vectors");
    let ids = ids(&words, questions).await?;
    for (way, graph) in [("words", &words), ("both", &both)] {
        let mut recall = Recall::default();
        for question in questions {
            let begin = cpu_time();
            let found = graph.search(&question.q, &PageFilters::default(), LIMIT).await.map_err(to_error)?;
            recall.add_cpu_since(begin);
            ensure!(found.note.is_none(), "{set}: {:?}", found.note);
            let found: Vec<String> = found.hits.into_iter().map(|hit| hit.page.id).collect();
            recall.add(&found, &question.rel);
        }
        results.rows.push(recall.row(set, ids.len(), way));
    }
    results.rows.push(meaning(&words, &ids, questions).await?.row(set, ids.len(), "meaning"));
    Ok(())
}

/// Returns a graph without pages, with the local model.
pub(crate) fn empty_graph(database: &Path) -> WikiKnowledge {
    let config = KnowledgeConfig { database: database.to_owned(), roots: WikiRoots::Any, default_root: None };
    WikiKnowledge::sqlite(config, Arc::new(Noon), Some(Arc::new(LocalEmbedder)))
}

async fn graph(database: &Path, wiki: &Path, embedder: Option<Arc<dyn Embedder>>) -> Result<WikiKnowledge> {
    let config = KnowledgeConfig { database: database.to_owned(), roots: WikiRoots::Any, default_root: None };
    let graph = WikiKnowledge::sqlite(config, Arc::new(Noon), embedder);
    graph.index(Some(wiki.to_owned()), IndexOptions::default(), &|_, _| {}).await.map_err(to_error)?;
    Ok(graph)
}

/// Returns the ids of all pages. Fails if a question names another one.
async fn ids(graph: &WikiKnowledge, questions: &[Question]) -> Result<Vec<String>> {
    let ids: BTreeSet<String> = graph.ids().await.map_err(to_error)?.into_iter().collect();
    for id in questions.iter().flat_map(|question| &question.rel) {
        ensure!(ids.contains(id), "a question names the missing page '{id}'");
    }
    Ok(ids.into_iter().collect())
}

async fn meaning(graph: &WikiKnowledge, ids: &[String], questions: &[Question]) -> Result<Recall> {
    let mut block = VectorBlock::new(gatehouse_text::DIMENSION);
    let mut rows = Vec::new();
    for id in ids {
        let PageLookup::Found { page, .. } = graph.page(id).await.map_err(to_error)? else { continue };
        let text = embedded_text(&page.title, &page.overview, &page.domains, &page.content);
        if let Some(vector) = LocalEmbedder.vector(&text)
            && block.push(&vector).is_some()
        {
            rows.push(id.clone());
        }
    }
    let mut recall = Recall::default();
    for question in questions {
        let near = LocalEmbedder.vector(&question.q).map(|vector| block.nearest(&vector, None, LIMIT));
        let found: Vec<String> = near.into_iter().flatten().map(|near| rows[near.row].clone()).collect();
        recall.add(&found, &question.rel);
    }
    Ok(recall)
}

pub(crate) fn to_error(fault: gatehouse_core::Fault) -> anyhow::Error {
    anyhow!("{}", fault.message)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn places(data: Option<&str>) -> Places {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        Places {
            queries: root.join("tests/fixtures/queries"),
            sample_wiki: root.join("docs/sample-wiki"),
            data: data.map(|folder| root.join(folder)),
            documents: Vec::new(),
        }
    }

    fn recall(results: &Results, set: &str, way: &str) -> f64 {
        let row = results.rows.iter().find(|row| row["set"] == set && row["way"] == way);
        row.and_then(|row| row["recall@5"].as_f64())
            .unwrap_or_else(|| panic!("{set} by {way} was not measured"))
    }

    #[tokio::test]
    async fn questions_in_other_words_are_answered_by_both_better_than_by_words() {
        let mut results = Results::default();
        run(&places(Some("../shared/data")), &mut results).await.unwrap();
        let mut sets = vec![("sample wiki", 0.85)];
        match results.skipped.as_slice() {
            [] => sets.push(("wiki", 0.8)),
            skipped => eprintln!("SKIPPED: {skipped:?}"),
        }
        for (set, least) in sets {
            let [words, meaning, both] = ["words", "meaning", "both"].map(|way| recall(&results, set, way));
            // With 20 questions, the sample wiki cannot distinguish both from meaning alone.
            let beats_meaning = both > meaning || set == "sample wiki";
            assert!(both >= least && both > words && beats_meaning, "{set}: {words} {meaning} {both}");
        }
    }

    #[tokio::test]
    async fn what_is_not_there_is_listed_as_skipped() {
        let mut results = Results::default();
        run(&places(None), &mut results).await.unwrap();
        assert_eq!(results.skipped, ["wiki: directory with 99 pages not found"]);
        assert!(results.rows.iter().all(|row: &Value| row["set"] == "sample wiki"));
    }
}

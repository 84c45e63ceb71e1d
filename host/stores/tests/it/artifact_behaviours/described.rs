//! Kept results found by what a user says about them.
//!
//! `fixtures/kept.json` has 16 results of different tools with three descriptions each, written before the search was
//! tried on them, and 16 results that resemble them.

use gatehouse_core::ports::{
    ArtifactService as _,
    artifacts::{ArtifactDraft, ArtifactHit, MatchQuality},
};
use serde::Deserialize;

use super::{LOCAL, Shelf, named, shelf, shelf_by_meaning};
use crate::{embedder::TestEmbedder, engines::ArtifactFixture, support::fixture};

/// The place in a list at which a result still counts as found.
const MAX_PLACE: usize = 3;

#[derive(Deserialize)]
struct DescribedResult {
    tool: String,
    source: String,
    /// As the gate `summarizer` writes it, without findings: arguments and method.
    summary: String,
    text: String,
    questions: Vec<String>,
}

impl DescribedResult {
    fn draft(&self) -> ArtifactDraft {
        ArtifactDraft {
            text: self.text.clone(),
            mime_type: "text/plain".into(),
            tool: Some(self.tool.clone()),
            source: Some(self.source.clone()),
            preset: "work".into(),
            summary: Some(self.summary.clone()),
            tags: vec![self.source.clone(), self.tool.clone(), "work".into()],
            ..ArtifactDraft::default()
        }
    }
}

fn kept_results() -> Vec<DescribedResult> {
    serde_json::from_slice(&std::fs::read(fixture("kept.json")).unwrap()).unwrap()
}

/// Stores the results and returns their ids.
async fn keep(shelf: &Shelf, results: &[DescribedResult]) -> Vec<String> {
    let mut ids = Vec::new();
    for result in results {
        ids.push(shelf.put(result.draft()).await.id);
        shelf.clock.advance(60_000);
    }
    ids
}

async fn is_found(shelf: &Shelf, question: &str, id: &str) -> bool {
    let hits = shelf.store.search(&LOCAL, question, 5).await.unwrap();
    let listed = hits.iter().filter(|hit| hit.fit != MatchQuality::Nothing).take(MAX_PLACE);
    listed.map(|hit: &ArtifactHit| &hit.artifact.id).any(|other| other == id)
}

pub(crate) async fn results_are_found_by_a_description<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let results = kept_results();
    let ids = keep(&shelf, &results).await;
    let (mut missed, mut asked, mut first) = (Vec::new(), 0, 0);
    for (result, id) in results.iter().zip(&ids) {
        for (at, question) in result.questions.iter().enumerate() {
            asked += 1;
            let found = is_found(&shelf, question, id).await;
            first += usize::from(found && at == 0);
            if !found {
                missed.push(question);
            }
        }
    }
    assert_eq!(asked, 48);
    assert!(first >= 14 && missed.len() <= 6, "{}: {first} of 16; {missed:#?}", F::NAME);
    for off_topic in ["how to plant tulips", "bagpipes for beginners", "the capital of Mongolia"] {
        let hits = shelf.store.search(&LOCAL, off_topic, 5).await.unwrap();
        assert!(hits.iter().all(|hit| hit.fit == MatchQuality::Nothing), "{off_topic}: {hits:#?}");
    }
    for question in results.iter().flat_map(|result| &result.questions) {
        assert_eq!(shelf.store.search(&named("ann"), question, 5).await.unwrap(), []);
    }
}

pub(crate) async fn the_subject_of_a_result_is_found_without_a_summary<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&engine, &embedder);
    let draft = |text: &str| ArtifactDraft { text: text.into(), ..ArtifactDraft::default() };
    let json = shelf.put(draft(r#"{"shipments": [{"harbour": "Rotterdam", "cargo": "yeast"}]}"#)).await.id;
    let page = shelf.put(draft("# Lighthouses of Brittany\n\nThey are many.")).await.id;
    let broken = shelf.put(draft(r#"{"harbours": [{"name": "Antwerp", "depth": "#)).await.id;
    assert!(shelf.store.wait_for_vectors(super::LONG).await);
    for (question, id) in [
        ("shipments", &json),
        ("Rotterdam", &json),
        ("lighthouses in Brittany", &page),
        ("depth of Antwerp", &broken),
        ("leaven", &json),
    ] {
        assert_eq!(shelf.find(question).await.first(), Some(id), "{question}");
    }
}

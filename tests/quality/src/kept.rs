//! Search of kept results with the local embedding model, and with the findings that the digest makes of them.

use std::{fmt::Write as _, sync::Arc, time::Duration};

use gatehouse_core::{
    call::Principal,
    ports::{
        ArtifactService as _, Clock, Embedder, TextCompressor,
        artifacts::{ArtifactDraft, MatchQuality},
    },
};
use gatehouse_stores::{ArtifactLimits, ArtifactStore};
use gatehouse_text::{Extractor, LocalEmbedder};
use serde_json::Value;

/// The place in a list at which a result still counts as found.
const MAX_PLACE: usize = 3;

struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> u64 {
        1_767_960_000_000
    }
}

fn kept_results() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../host/stores/tests/fixtures/kept.json");
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

fn draft(result: &Value) -> ArtifactDraft {
    let string = |key: &str| result[key].as_str().expect("text").to_owned();
    let (text, source, tool) = (string("text"), string("source"), string("tool"));
    let port: &dyn TextCompressor = &Extractor;
    let findings = port.digest(&text, "", 300).expect("a digest").findings;
    let mut summary = findings.iter().fold(String::new(), |mut lines, finding| {
        let _ = writeln!(lines, "- {finding}");
        lines
    });
    let asked = string("summary");
    summary.push_str(asked.find("asked: ").map_or("", |at| &asked[at..]));
    ArtifactDraft {
        data: None,
        owner_limit: None,
        tags: vec![source.clone(), tool.clone(), "work".into()],
        text,
        mime_type: "text/plain".into(),
        tool: Some(tool),
        source: Some(source),
        preset: "work".into(),
        summary: Some(summary),
        ttl: None,
    }
}

/// Returns the descriptions that do not find their result, and those that are off-topic but find one.
async fn missed(embedder: Option<Arc<dyn Embedder>>) -> (Vec<String>, Vec<&'static str>) {
    let folder = tempfile::tempdir().expect("a directory");
    let limits =
        ArtifactLimits { ttl: Duration::from_hours(3), cap: 1 << 30, cap_setting: "max_bytes".into() };
    let store = ArtifactStore::sqlite(folder.path().join("artifacts.db"), limits, Arc::new(Noon), embedder);
    let owner = Principal::Local;
    let mut questions = Vec::new();
    for result in kept_results() {
        let id = store.put(&owner, draft(&result)).await.expect("stored").id;
        let list = result["questions"].as_array().expect("a list").iter();
        questions.extend(list.map(|question| (question.as_str().expect("text").to_owned(), id.clone())));
    }
    assert!(store.wait_for_vectors(Duration::from_secs(60)).await);
    let mut missed = Vec::new();
    for (question, id) in questions {
        let hits = store.search(&owner, &question, 5).await.expect("hits");
        let mut listed = hits.iter().filter(|hit| hit.fit != MatchQuality::Nothing).take(MAX_PLACE);
        if !listed.any(|hit| hit.artifact.id == id) {
            missed.push(question);
        }
    }
    let mut wrong = Vec::new();
    for question in ["how to plant tulips", "bagpipes for beginners", "the capital of Mongolia"] {
        let hits = store.search(&owner, question, 5).await.expect("hits");
        if hits.iter().any(|hit| hit.fit != MatchQuality::Nothing) {
            wrong.push(question);
        }
    }
    (missed, wrong)
}

#[tokio::test]
#[allow(clippy::print_stderr, reason = "the figures")]
async fn kept_results_are_found_by_descriptions() {
    let model: Arc<dyn Embedder> = Arc::new(LocalEmbedder);
    for (way, embedder) in [("words", None), ("both", Some(model))] {
        let (missed, wrong) = missed(embedder).await;
        eprintln!("{way}: {} of 48 descriptions find their result; off-topic {wrong:?}", 48 - missed.len());
        assert!(missed.len() <= 6 && wrong.is_empty(), "{way}: {missed:#?} {wrong:?}");
    }
}

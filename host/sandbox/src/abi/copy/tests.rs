//! Gates of two versions of the contract, served by one host.

use std::{fs, path::Path, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, Principal, Source,
    capability::Grants,
    http::Rules,
    ports::{
        Artifacts, Clock, Documents, Embedder, Http, Knowledge, Kv, Llm, Text, TokenCounter,
        artifacts::{Artifact, ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactHit, Part, Piece},
        documents::{Document, DocumentSearch, Lines, Repository, SearchMode},
        embed::{EmbedFor, Vector},
        http::{HttpRequest, HttpResponse},
        knowledge::{
            Changes, Draft, Filters, IndexOptions, IndexReport, Lookup, Neighbour, PatchReport, Progress,
            SearchResult, Statistics,
        },
        llm::{Completion, OnProgress, Prompt},
        text::{Compact, Digest, Encoding, Extract},
    },
};
use serde_json::Map;

use crate::{GateSettings, Models, Ports, ProbeOutcome, Sandbox};

/// Nothing that a gate could reach.
struct Nothing;

fn nothing<T>() -> Result<T, Fault> {
    Err(Fault::unavailable("There is nothing."))
}

impl Clock for Nothing {
    fn now_ms(&self) -> u64 {
        0
    }
}

#[async_trait]
impl Knowledge for Nothing {
    async fn search(&self, _: &str, _: &Filters, _: usize) -> Result<SearchResult, Fault> {
        nothing()
    }
    async fn page(&self, _: &str) -> Result<Lookup, Fault> {
        nothing()
    }
    async fn neighbours(&self, _: &str) -> Result<Vec<Neighbour>, Fault> {
        nothing()
    }
    async fn upsert(&self, _: Vec<Draft>) -> Result<IndexReport, Fault> {
        nothing()
    }
    async fn patch(
        &self,
        _: &str,
        _: Changes,
        _: Option<std::path::PathBuf>,
        _: bool,
    ) -> Result<PatchReport, Fault> {
        nothing()
    }
    async fn index(
        &self,
        _: Option<std::path::PathBuf>,
        _: IndexOptions,
        _: Progress<'_>,
    ) -> Result<IndexReport, Fault> {
        nothing()
    }
    async fn stats(&self) -> Result<Statistics, Fault> {
        nothing()
    }
}

#[async_trait]
impl Documents for Nothing {
    async fn repositories(&self, _: bool) -> Result<Vec<Repository>, Fault> {
        nothing()
    }
    async fn search(&self, _: &str, _: &str, _: SearchMode, _: usize) -> Result<DocumentSearch, Fault> {
        nothing()
    }
    async fn read(&self, _: &str, _: &str, _: Option<Lines>) -> Result<Document, Fault> {
        nothing()
    }
}

#[async_trait]
impl Kv for Nothing {
    async fn get(&self, _: &str, _: &str) -> Result<Option<Vec<u8>>, Fault> {
        nothing()
    }
    async fn set(&self, _: &str, _: &str, _: Vec<u8>, _: Option<u64>, _: u64) -> Result<(), Fault> {
        nothing()
    }
    async fn add(&self, _: &str, _: &str, _: i64, _: Option<u64>, _: u64) -> Result<i64, Fault> {
        nothing()
    }
    async fn delete(&self, _: &str, _: &str) -> Result<bool, Fault> {
        nothing()
    }
    async fn keys(&self, _: &str, _: &str) -> Result<Vec<String>, Fault> {
        nothing()
    }
}

#[async_trait]
impl Artifacts for Nothing {
    async fn put(&self, _: &Principal, _: ArtifactDraft) -> Result<Artifact, Fault> {
        nothing()
    }
    async fn info(&self, _: &Principal, _: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        nothing()
    }
    async fn read(&self, _: &Principal, _: &str, _: &Part) -> Result<Piece, Fault> {
        nothing()
    }
    async fn recent(&self, _: &Principal, _: &ArtifactFilter, _: usize) -> Result<Vec<Artifact>, Fault> {
        nothing()
    }
    async fn search(&self, _: &Principal, _: &str, _: usize) -> Result<Vec<ArtifactHit>, Fault> {
        nothing()
    }
    async fn change(&self, _: &Principal, _: &str, _: ArtifactChanges) -> Result<Artifact, Fault> {
        nothing()
    }
    async fn delete(&self, _: &Principal, _: &str) -> Result<bool, Fault> {
        nothing()
    }
}

impl Text for Nothing {
    fn count(&self, _: &str) -> u32 {
        0
    }
    fn extract(&self, _: &str, _: &str, _: u32) -> Result<Extract, Fault> {
        nothing()
    }
    fn compact(&self, _: &str) -> Option<Compact> {
        None
    }
    fn digest(&self, _: &str, _: &str, _: u32) -> Result<Digest, Fault> {
        nothing()
    }
}

#[async_trait]
impl Http for Nothing {
    async fn fetch(&self, _: &Rules, _: HttpRequest) -> Result<HttpResponse, Fault> {
        nothing()
    }
}

#[async_trait]
impl Llm for Nothing {
    fn model(&self) -> Option<&str> {
        None
    }
    fn web_model(&self) -> Option<&str> {
        None
    }
    async fn complete(&self, _: Prompt, _: OnProgress<'_>) -> Result<Completion, Fault> {
        nothing()
    }
}

#[async_trait]
impl Embedder for Nothing {
    fn model(&self) -> &str {
        "none"
    }
    async fn embed(&self, _: &[String], _: EmbedFor) -> Result<Vec<Vector>, Fault> {
        nothing()
    }
}

impl TokenCounter for Nothing {
    fn count(&self, _: &str, _: Encoding) -> usize {
        0
    }
    fn within<'a>(&self, text: &'a str, _: usize, _: Encoding) -> &'a str {
        text
    }
    fn count_up_to(&self, _: &str, _: usize, _: Encoding) -> Option<usize> {
        None
    }
}

fn sandbox(cache: &Path) -> Sandbox {
    let nothing = || Arc::new(Nothing);
    let models = Models { llm: nothing(), embedder: nothing(), tokens: nothing() };
    let (clock, knowledge, kv) = (nothing(), nothing(), nothing());
    let (documents, artifacts, text, http) = (nothing(), nothing(), nothing(), nothing());
    Sandbox::new(cache, u64::MAX, Ports { clock, knowledge, documents, kv, artifacts, text, http, models })
}

/// The component under another version that is as long.
fn under(version: &[u8; 6], component: &[u8]) -> Vec<u8> {
    let mut bytes = component.to_vec();
    let places = component.windows(version.len()).enumerate().filter(|(_, window)| window == b"@0.1.0");
    places.for_each(|(place, _)| bytes[place..place + version.len()].copy_from_slice(version));
    bytes
}

#[tokio::test]
async fn gates_of_two_versions_are_served_side_by_side() {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fixture-gates/keeper.wasm");
    let built = fs::read(&built).expect("`cargo xtask gates --fixtures` builds it");
    let folder = tempfile::tempdir().expect("a folder");
    let sandbox = sandbox(&folder.path().join("cache"));
    let grants = Grants::parse(["kv"]).expect("a grant");
    let settings = GateSettings { grants, ..GateSettings::default() };
    let mut listings = Vec::new();
    // The second is of the same version once it has grown, and the third of the copy.
    for (name, version) in [("first", b"@0.1.0"), ("grown", b"@0.1.1"), ("next", b"@0.2.0")] {
        let file = folder.path().join(format!("{name}.wasm"));
        fs::write(&file, under(version, &built)).expect("written");
        let gate = sandbox.gate(name, &file, settings.clone()).unwrap_or_else(|error| panic!("{error}"));
        listings.push(gate.list(&Map::new()).await.expect("a listing"));
        // Its functions of the host are those of its version, behind the same checks.
        let outcome = gate.try_out("recall", r#"{"name": "x"}"#, "{}").await.outcome;
        let ProbeOutcome::Faulted(fault) = outcome else { panic!("{outcome:?}") };
        assert_eq!(fault.message, "A gate that describes itself has no access to kv.");
    }
    assert!(listings.windows(2).all(|two| two[0] == two[1]));
}

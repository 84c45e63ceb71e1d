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

/// Ports of which every method gives the same.
macro_rules! nothing_of {
    ($($port:ident { $($name:ident($($kind:ty),*) -> $result:ty;)+ })+) => {$(
        #[async_trait]
        impl $port for Nothing {
            $(async fn $name(&self, $(_: $kind),*) -> Result<$result, Fault> {
                nothing()
            })+
        }
    )+};
}

nothing_of! {
    Knowledge {
        search(&str, &Filters, usize) -> SearchResult;
        page(&str) -> Lookup;
        neighbours(&str) -> Vec<Neighbour>;
        upsert(Vec<Draft>) -> IndexReport;
        patch(&str, Changes, Option<std::path::PathBuf>, bool) -> PatchReport;
        index(Option<std::path::PathBuf>, IndexOptions, Progress<'_>) -> IndexReport;
        stats() -> Statistics;
    }
    Documents {
        repositories(bool) -> Vec<Repository>;
        search(&str, &str, SearchMode, usize) -> DocumentSearch;
        read(&str, &str, Option<Lines>) -> Document;
    }
    Kv {
        get(&str, &str) -> Option<Vec<u8>>;
        set(&str, &str, Vec<u8>, Option<u64>, u64) -> ();
        add(&str, &str, i64, Option<u64>, u64) -> i64;
        delete(&str, &str) -> bool;
        keys(&str, &str) -> Vec<String>;
    }
    Artifacts {
        put(&Principal, ArtifactDraft) -> Artifact;
        info(&Principal, &[String]) -> Vec<Option<Artifact>>;
        read(&Principal, &str, &Part) -> Piece;
        recent(&Principal, &ArtifactFilter, usize) -> Vec<Artifact>;
        search(&Principal, &str, usize) -> Vec<ArtifactHit>;
        change(&Principal, &str, ArtifactChanges) -> Artifact;
        delete(&Principal, &str) -> bool;
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

//! What the tests of this crate stand on: ports behind which there is nothing.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    Fault, Principal,
    http::HttpRules,
    ports::{
        Artifacts, Clock, Documents, Embedder, Http, Knowledge, Kv, Llm, Text, TokenCounter,
        artifacts::{Artifact, ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactHit, Part, Piece},
        documents::{Document, DocumentSearch, Lines, Repository, SearchMode},
        embed::{EmbedFor, Vector},
        http::{HttpRequest, HttpResponse},
        knowledge::{
            EngineStatistics, IndexOptions, IndexReport, PageChanges, PageDraft, PageFilters, PageLookup,
            PageNeighbor, PageSearchResult, PatchReport, Progress,
        },
        llm::{Completion, OnProgress, Prompt},
        text::{Compact, Digest, Encoding, Extract},
    },
};

use crate::{Models, Ports};

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
        search(&str, &PageFilters, usize) -> PageSearchResult;
        page(&str) -> PageLookup;
        neighbours(&str) -> Vec<PageNeighbor>;
        upsert(Vec<PageDraft>) -> IndexReport;
        patch(&str, PageChanges, Option<std::path::PathBuf>, bool) -> PatchReport;
        index(Option<std::path::PathBuf>, IndexOptions, Progress<'_>) -> IndexReport;
        preview_upsert(Vec<PageDraft>) -> IndexReport;
        preview_patch(&str, PageChanges, Option<std::path::PathBuf>, bool) -> PatchReport;
        preview_index(Option<std::path::PathBuf>, IndexOptions, Progress<'_>) -> IndexReport;
        stats() -> EngineStatistics;
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
    async fn fetch(&self, _: &HttpRules, _: HttpRequest) -> Result<HttpResponse, Fault> {
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

/// Ports behind which there is nothing.
pub(crate) fn ports() -> Ports {
    let nothing = || Arc::new(Nothing);
    let models = Models { llm: nothing(), embedder: nothing(), tokens: nothing() };
    let (clock, knowledge, kv) = (nothing(), nothing(), nothing());
    let (documents, artifacts, text, http) = (nothing(), nothing(), nothing(), nothing());
    let (servers, tools, ledger) = (None, None, None);
    Ports { clock, knowledge, documents, kv, artifacts, text, http, models, servers, tools, ledger }
}

//! Ports for tests that fail every request.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    Fault, Principal,
    http::HttpRules,
    ports::{
        ArtifactService, Clock, DocumentReader, Embedder, HttpFetcher, KnowledgeGraph, KvStore, Llm,
        TextCompressor, TokenCounter,
        artifacts::{
            Artifact, ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactHit, ArtifactPart,
            ArtifactSlice,
        },
        documents::{Document, DocumentSearchResult, LineRange, Repository, SearchMode},
        embed::{EmbeddingPurpose, EmbeddingVector},
        http::{HttpRequest, HttpResponse},
        knowledge::{
            EngineStatistics, IndexOptions, IndexReport, OnPageProgress, PageChanges, PageDraft, PageFilters,
            PageLookup, PageNeighbor, PageSearchResult, PatchReport,
        },
        llm::{ModelCompletion, ModelPrompt, OnCompletionProgress},
        text::{CompactText, DocumentDigest, TextExtract, TokenEncoding},
    },
};

use crate::{ModelPorts, Ports};

struct Nothing;

fn nothing<T>() -> Result<T, Fault> {
    Err(Fault::unavailable("not available in this test"))
}

impl Clock for Nothing {
    fn now_ms(&self) -> u64 {
        0
    }
}

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
    KnowledgeGraph {
        search(&str, &PageFilters, usize) -> PageSearchResult;
        page(&str) -> PageLookup;
        neighbors(&str) -> Vec<PageNeighbor>;
        upsert(Vec<PageDraft>) -> IndexReport;
        patch(&str, PageChanges, Option<std::path::PathBuf>, bool) -> PatchReport;
        index(Option<std::path::PathBuf>, IndexOptions, OnPageProgress<'_>) -> IndexReport;
        preview_upsert(Vec<PageDraft>) -> IndexReport;
        preview_patch(&str, PageChanges, Option<std::path::PathBuf>, bool) -> PatchReport;
        preview_index(Option<std::path::PathBuf>, IndexOptions, OnPageProgress<'_>) -> IndexReport;
        stats() -> EngineStatistics;
    }
    DocumentReader {
        repositories(bool) -> Vec<Repository>;
        search(&str, &str, SearchMode, usize) -> DocumentSearchResult;
        read(&str, &str, Option<LineRange>) -> Document;
    }
    KvStore {
        get(&str, &str) -> Option<Vec<u8>>;
        set(&str, &str, Vec<u8>, Option<u64>, u64) -> ();
        add(&str, &str, i64, Option<u64>, u64) -> i64;
        delete(&str, &str) -> bool;
        keys(&str, &str) -> Vec<String>;
    }
    ArtifactService {
        put(&Principal, ArtifactDraft) -> Artifact;
        info(&Principal, &[String]) -> Vec<Option<Artifact>>;
        read(&Principal, &str, &ArtifactPart) -> ArtifactSlice;
        recent(&Principal, &ArtifactFilter, usize) -> Vec<Artifact>;
        search(&Principal, &str, usize) -> Vec<ArtifactHit>;
        change(&Principal, &str, ArtifactChanges) -> Artifact;
        delete(&Principal, &str) -> bool;
    }
}

impl TextCompressor for Nothing {
    fn count(&self, _: &str) -> u32 {
        0
    }
    fn extract(&self, _: &str, _: &str, _: u32) -> Result<TextExtract, Fault> {
        nothing()
    }
    fn compact(&self, _: &str) -> Option<CompactText> {
        None
    }
    fn digest(&self, _: &str, _: &str, _: u32) -> Result<DocumentDigest, Fault> {
        nothing()
    }
}

#[async_trait]
impl HttpFetcher for Nothing {
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
    async fn complete(&self, _: ModelPrompt, _: OnCompletionProgress<'_>) -> Result<ModelCompletion, Fault> {
        nothing()
    }
}

#[async_trait]
impl Embedder for Nothing {
    fn model(&self) -> &str {
        "none"
    }
    async fn embed(&self, _: &[String], _: EmbeddingPurpose) -> Result<Vec<EmbeddingVector>, Fault> {
        nothing()
    }
}

impl TokenCounter for Nothing {
    fn count(&self, _: &str, _: TokenEncoding) -> usize {
        0
    }
    fn token_prefix<'a>(&self, text: &'a str, _: usize, _: TokenEncoding) -> &'a str {
        text
    }
    fn count_up_to(&self, _: &str, _: usize, _: TokenEncoding) -> Option<usize> {
        None
    }
}

pub(crate) fn ports() -> Ports {
    let nothing = || Arc::new(Nothing);
    let models = ModelPorts { llm: nothing(), embedder: nothing(), tokens: nothing() };
    let (clock, knowledge, kv) = (nothing(), nothing(), nothing());
    let (documents, artifacts, text, http) = (nothing(), nothing(), nothing(), nothing());
    let (servers, tools, ledger) = (None, None, None);
    Ports { clock, knowledge, documents, kv, artifacts, text, http, models, servers, tools, ledger }
}

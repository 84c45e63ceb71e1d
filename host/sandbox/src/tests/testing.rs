//! Ports for tests that fail every request.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, Principal, Source,
    capability::Grants,
    http::HttpRules,
    ports::{
        Clock, Embedder, HttpFetcher, KvStore, Llm, PortSetup, ServerRegistry, TextCompressor, TokenCounter,
        ToolIndex,
        embed::{EmbeddingPurpose, EmbeddingVector},
        http::{HttpRequest, HttpResponse},
        kv::KvQuota,
        llm::{ModelCompletion, ModelPrompt, OnCompletionProgress},
        servers::{RefreshReport, ServerListing, ServerStatus, UnlistedServer},
        text::{CompactText, DocumentDigest, TextExtract, TokenEncoding},
        tool_index::{
            IndexedListing, KnownListing, PendingChange, ToolFilter, ToolSearchRequest, ToolSearchResult,
        },
    },
};

use serde_json::{Map, Value};

use crate::{
    ModelPorts, Ports, SandboxLimits, SystemLimits, capability::GateFacts, capacity::InstanceCapacity,
};

struct Nothing;

fn nothing<T>() -> Result<T, Fault> {
    Err(Fault::unavailable("not available in this test"))
}

impl Clock for Nothing {
    fn now_ms(&self) -> u64 {
        0
    }
}

impl<P: ?Sized> PortSetup<P> for Nothing {
    fn port(&self) -> Result<&P, Fault> {
        nothing()
    }
}

#[async_trait]
impl KvStore for Nothing {
    async fn get(&self, _: &str, _: &str) -> Result<Option<Vec<u8>>, Fault> {
        nothing()
    }
    async fn set(&self, _: &str, _: &str, _: Vec<u8>, _: Option<u64>, _: KvQuota<'_>) -> Result<(), Fault> {
        nothing()
    }
    async fn add(&self, _: &str, _: &str, _: i64, _: Option<u64>, _: KvQuota<'_>) -> Result<i64, Fault> {
        nothing()
    }
    async fn delete(&self, _: &str, _: &str) -> Result<bool, Fault> {
        nothing()
    }
    async fn owner_bytes(&self, _: &str) -> Result<u64, Fault> {
        nothing()
    }
    async fn keys(&self, _: &str, _: &str) -> Result<Vec<String>, Fault> {
        nothing()
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

#[async_trait]
impl ServerRegistry for Nothing {
    fn status(&self) -> Vec<ServerStatus> {
        Vec::new()
    }
    fn source(&self, _: &str) -> Option<Arc<dyn Source>> {
        None
    }
    async fn listing(&self, _: &str, _: &Principal) -> Result<ServerListing, Fault> {
        nothing()
    }
    async fn known(&self, _: &str) -> Result<Option<ServerListing>, Fault> {
        Ok(None)
    }
    async fn first_listings(&self, _: &[Arc<str>], _: Duration, _: &Principal) -> Vec<UnlistedServer> {
        Vec::new()
    }
    async fn probe(&self, _: &str, _: &Principal) -> Result<(), Fault> {
        nothing()
    }
    async fn refresh(&self, _: Option<&str>, _: bool, _: &Principal) -> Result<RefreshReport, Fault> {
        nothing()
    }
    async fn change(&self, _: &str, _: &Map<String, Value>) -> Result<Result<ServerListing, Fault>, Fault> {
        nothing()
    }
    async fn remove(&self, _: &str) -> Result<bool, Fault> {
        nothing()
    }
}

#[async_trait]
impl ToolIndex for Nothing {
    async fn put(&self, _: IndexedListing, _: bool) -> Result<RefreshReport, Fault> {
        nothing()
    }
    async fn known(&self, _: &str) -> Result<Option<KnownListing>, Fault> {
        Ok(None)
    }
    async fn forget(&self, _: &str) -> Result<(), Fault> {
        nothing()
    }
    async fn search(&self, _: &ToolSearchRequest, _: ToolFilter<'_>) -> Result<ToolSearchResult, Fault> {
        Ok(ToolSearchResult::default())
    }
    async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        nothing()
    }
    async fn approve(&self, _: &str, _: &str, _: &str) -> Result<bool, Fault> {
        nothing()
    }
    async fn generation(&self) -> Result<i64, Fault> {
        Ok(0)
    }
}

pub(crate) fn facts(gate: &str) -> Arc<GateFacts> {
    Arc::new(GateFacts {
        gate: gate.into(),
        grants: Grants::default(),
        ports: ports(),
        http: Arc::new(HttpRules::deny_all(gate)),
        limits: SandboxLimits::default(),
        memory: InstanceCapacity::new(SystemLimits::default()).memory,
        threads: Arc::default(),
    })
}

pub(crate) fn ports() -> Ports {
    let nothing = || Arc::new(Nothing);
    let models = ModelPorts { llm: nothing(), embedder: nothing(), tokens: nothing() };
    let (clock, knowledge, kv) = (nothing(), nothing(), nothing());
    let (documents, artifacts, text, http) = (nothing(), nothing(), nothing(), nothing());
    let (servers, tools, ledger) = (nothing(), nothing(), None);
    Ports { clock, knowledge, documents, kv, artifacts, text, http, models, servers, tools, ledger }
}

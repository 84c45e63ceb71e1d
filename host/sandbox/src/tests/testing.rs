//! Ports for tests that fail every request.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    http::HttpRules,
    ports::{
        Clock, Embedder, HttpFetcher, KvStore, Llm, PortSetup, TextCompressor, TokenCounter,
        embed::{EmbeddingPurpose, EmbeddingVector},
        http::{HttpRequest, HttpResponse},
        kv::KvQuota,
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

pub(crate) fn ports() -> Ports {
    let nothing = || Arc::new(Nothing);
    let models = ModelPorts { llm: nothing(), embedder: nothing(), tokens: nothing() };
    let (clock, knowledge, kv) = (nothing(), nothing(), nothing());
    let (documents, artifacts, text, http) = (nothing(), nothing(), nothing(), nothing());
    let (servers, tools, ledger) = (None, None, None);
    Ports { clock, knowledge, documents, kv, artifacts, text, http, models, servers, tools, ledger }
}

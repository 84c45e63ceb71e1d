//! `POST /api/embed` of Ollama.

use std::borrow::Cow;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::embed::{EmbedFor, Embedder, Vector},
};
use serde_json::{Value, json};

use super::batch::{self, Endpoint, Limits};
use crate::provider::Provider;

/// Ollama cuts a text to what the model has room for; more than this no model of embeddings has.
const MAX_BYTES: usize = 32 << 10;

pub(crate) struct OllamaEmbedder {
    provider: Provider,
    /// As the provider calls it.
    bare: String,
    model: String,
}

impl OllamaEmbedder {
    pub(crate) fn new(provider: Provider, bare: String) -> Self {
        let model = provider.model(&bare);
        Self { provider, bare, model }
    }
}

#[async_trait]
impl Embedder for OllamaEmbedder {
    fn model(&self) -> &str {
        &self.model
    }

    async fn embed(&self, texts: &[String], purpose: EmbedFor) -> Result<Vec<Vector>, Fault> {
        batch::embed(self, texts, purpose).await
    }
}

impl Endpoint for OllamaEmbedder {
    fn provider(&self) -> &Provider {
        &self.provider
    }

    /// It has no limits of its own, and may run on this machine's processor: small requests show progress.
    fn limits(&self) -> Limits {
        Limits { texts: 32, bytes: 128 << 10 }
    }

    /// The default model was trained with a prefix for each side of a search; the others know none.
    fn prepare<'a>(&self, text: &'a str, purpose: EmbedFor) -> Cow<'a, str> {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        match (self.bare.starts_with("nomic-embed-text"), purpose) {
            (true, EmbedFor::Query) => Cow::Owned(format!("search_query: {text}")),
            (true, EmbedFor::Document) => Cow::Owned(format!("search_document: {text}")),
            (false, _) => Cow::Borrowed(text),
        }
    }

    fn request(&self, texts: &[&str], _purpose: EmbedFor) -> (String, Value) {
        ("api/embed".to_owned(), json!({ "model": self.bare, "input": texts, "truncate": true }))
    }

    fn vectors(&self, answer: Value) -> Option<Vec<Vec<f32>>> {
        answer["embeddings"].as_array()?.iter().map(batch::numbers).collect()
    }
}

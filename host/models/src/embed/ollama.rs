//! Ollama's `POST /api/embed`.

use std::borrow::Cow;

use gatehouse_core::ports::embed::EmbeddingPurpose;
use serde_json::{Value, json};

use super::{BatchLimits, EmbeddingApi, numbers};

/// No embedding model has a larger context. Ollama truncates texts to it.
const MAX_BYTES: usize = 32 << 10;

pub(crate) struct OllamaEmbeddings {
    pub(crate) model: String,
}

impl EmbeddingApi for OllamaEmbeddings {
    /// Ollama may run on this machine's CPU. Small requests make progress visible.
    const LIMITS: BatchLimits = BatchLimits { texts: 32, bytes: 128 << 10 };

    /// The default model was trained with these prefixes; other models have no prefix.
    fn prepare<'a>(&self, text: &'a str, purpose: EmbeddingPurpose) -> Cow<'a, str> {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        match (self.model.starts_with("nomic-embed-text"), purpose) {
            (true, EmbeddingPurpose::Query) => Cow::Owned(format!("search_query: {text}")),
            (true, EmbeddingPurpose::Document) => Cow::Owned(format!("search_document: {text}")),
            (false, _) => Cow::Borrowed(text),
        }
    }

    fn request(&self, texts: &[&str], _purpose: EmbeddingPurpose) -> (String, Value) {
        ("api/embed".to_owned(), json!({ "model": self.model, "input": texts, "truncate": true }))
    }

    fn vectors(&self, answer: Value) -> Option<Vec<Vec<f32>>> {
        answer["embeddings"].as_array()?.iter().map(numbers).collect()
    }
}

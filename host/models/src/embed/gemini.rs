//! Gemini's `:batchEmbedContents`.

use std::borrow::Cow;

use gatehouse_core::ports::embed::EmbeddingPurpose;
use serde_json::{Value, json};

use super::{BatchLimits, EmbeddingApi, numbers};

/// The first 768 of the model's 3,072 numbers retain nearly all information.
const DIMENSION: usize = 768;

/// The model reads 2,048 tokens. More than 16 bytes per token are not text.
const MAX_BYTES: usize = 32 << 10;

pub(crate) struct GeminiEmbeddings {
    pub(crate) version: String,
    pub(crate) model: String,
}

impl EmbeddingApi for GeminiEmbeddings {
    /// The API accepts 100 texts per request.
    const LIMITS: BatchLimits = BatchLimits { texts: 100, bytes: 512 << 10 };

    fn prepare<'a>(&self, text: &'a str, _purpose: EmbeddingPurpose) -> Cow<'a, str> {
        Cow::Borrowed(&text[..text.floor_char_boundary(MAX_BYTES)])
    }

    fn request(&self, texts: &[&str], purpose: EmbeddingPurpose) -> (String, Value) {
        let task = match purpose {
            EmbeddingPurpose::Query => "RETRIEVAL_QUERY",
            EmbeddingPurpose::Document => "RETRIEVAL_DOCUMENT",
        };
        let request = |text: &&str| {
            json!({
                "model": format!("models/{}", self.model),
                "content": { "parts": [{ "text": text }] },
                "taskType": task,
                "outputDimensionality": DIMENSION,
            })
        };
        let requests: Vec<Value> = texts.iter().map(request).collect();
        let path = format!("{}/models/{}:batchEmbedContents", self.version, self.model);
        (path, json!({ "requests": requests }))
    }

    fn vectors(&self, answer: Value) -> Option<Vec<Vec<f32>>> {
        answer["embeddings"].as_array()?.iter().map(|item| numbers(&item["values"])).collect()
    }
}

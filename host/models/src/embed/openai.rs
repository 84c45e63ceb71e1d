//! `POST /embeddings` of OpenAI and compatible servers.

use std::{borrow::Cow, sync::Arc};

use gatehouse_core::ports::{TokenCounter, embed::EmbeddingPurpose, text::TokenEncoding};
use serde_json::{Value, json};

use super::{BatchLimits, EmbeddingApi, numbers};

/// Maximum tokens of a text. A longer one fails the whole request.
const MAX_TOKENS: usize = 8191;

/// Longer texts are cut before their tokens are counted.
const MAX_BYTES: usize = 128 << 10;

pub(crate) struct OpenAiEmbeddings {
    pub(crate) model: String,
    pub(crate) tokens: Arc<dyn TokenCounter>,
}

impl EmbeddingApi for OpenAiEmbeddings {
    /// The API accepts 2,048 texts and 300,000 tokens, but the response would be too large.
    const LIMITS: BatchLimits = BatchLimits { texts: 96, bytes: 256 << 10 };

    fn prepare<'a>(&self, text: &'a str, _purpose: EmbeddingPurpose) -> Cow<'a, str> {
        let text = &text[..text.floor_char_boundary(MAX_BYTES)];
        Cow::Borrowed(self.tokens.token_prefix(text, MAX_TOKENS, TokenEncoding::Cl100k))
    }

    fn request(&self, texts: &[&str], _purpose: EmbeddingPurpose) -> (String, Value) {
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        ("embeddings".to_owned(), body)
    }

    fn vectors(&self, answer: Value) -> Option<Vec<Vec<f32>>> {
        let data = answer["data"].as_array()?;
        let mut vectors: Vec<(u64, Vec<f32>)> = data
            .iter()
            .enumerate()
            .map(|(number, item)| {
                let index = item["index"].as_u64().unwrap_or(number as u64);
                Some((index, numbers(&item["embedding"])?))
            })
            .collect::<Option<_>>()?;
        vectors.sort_by_key(|(index, _)| *index);
        let in_order = vectors.iter().enumerate().all(|(number, (index, _))| *index == number as u64);
        in_order.then(|| vectors.into_iter().map(|(_, vector)| vector).collect())
    }
}

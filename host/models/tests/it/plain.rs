//! Builds configured models with simple fakes for the local models.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        Embedder, TokenCounter,
        embed::{EmbeddingPurpose, EmbeddingVector},
        text::TokenEncoding,
    },
};
use gatehouse_models::{ConfiguredModels, LocalModels, ModelsConfig, config::BadSetting};

/// Counts each character as a token and gives all texts the same vector.
struct Plain;

impl TokenCounter for Plain {
    fn count(&self, text: &str, _encoding: TokenEncoding) -> usize {
        text.chars().count()
    }

    fn count_up_to(&self, text: &str, limit: usize, encoding: TokenEncoding) -> Option<usize> {
        Some(self.count(text, encoding)).filter(|count| *count <= limit)
    }

    fn token_prefix<'a>(&self, text: &'a str, limit: usize, _encoding: TokenEncoding) -> &'a str {
        text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
    }
}

#[async_trait]
impl Embedder for Plain {
    fn model(&self) -> &str {
        "local/plain"
    }

    async fn embed(
        &self,
        texts: &[String],
        _purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        Ok(vec![Some(vec![1.0]); texts.len()])
    }
}

pub(crate) fn models(config: &ModelsConfig) -> Result<ConfiguredModels, BadSetting> {
    ConfiguredModels::new(config, LocalModels { embedder: Arc::new(Plain), tokens: Arc::new(Plain) })
}

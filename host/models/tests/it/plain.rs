//! The models of a configuration, beside plain stand-ins for the crate that works without a model.

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

/// A character is a token, and every text is alike.
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

/// The models of a configuration.
pub(crate) fn models(config: &ModelsConfig) -> Result<ConfiguredModels, BadSetting> {
    ConfiguredModels::new(config, LocalModels { embedder: Arc::new(Plain), tokens: Arc::new(Plain) })
}

//! The models of a configuration, beside plain stand-ins for the crate that works without a model.

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        Embedder, TokenCounter,
        embed::{EmbedFor, Vector},
        text::Encoding,
    },
};
use gatehouse_models::{Local, Models, ModelsConfig, config::BadSetting};

/// A character is a token, and every text is alike.
struct Plain;

impl TokenCounter for Plain {
    fn count(&self, text: &str, _encoding: Encoding) -> usize {
        text.chars().count()
    }

    fn count_up_to(&self, text: &str, limit: usize, encoding: Encoding) -> Option<usize> {
        Some(self.count(text, encoding)).filter(|count| *count <= limit)
    }

    fn within<'a>(&self, text: &'a str, limit: usize, _encoding: Encoding) -> &'a str {
        text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
    }
}

#[async_trait]
impl Embedder for Plain {
    fn model(&self) -> &str {
        "local/plain"
    }

    async fn embed(&self, texts: &[String], _purpose: EmbedFor) -> Result<Vec<Vector>, Fault> {
        Ok(vec![Some(vec![1.0]); texts.len()])
    }
}

/// The models of a configuration.
pub(crate) fn models(config: &ModelsConfig) -> Result<Models, BadSetting> {
    Models::new(config, Local { embedder: Arc::new(Plain), tokens: Arc::new(Plain) })
}

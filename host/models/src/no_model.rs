//! Placeholder for a missing model, whose faults give the reason and a hint.

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        embed::{Embedder, EmbeddingPurpose, EmbeddingVector},
        llm::{Llm, ModelCompletion, ModelPrompt, OnCompletionProgress},
    },
};

use crate::config::ProviderName;

pub(crate) const NOT_CONFIGURED: &str = "no language model is configured";

pub(crate) const SWITCHED_OFF: &str = "language models are switched off (llm = \"off\" in [models])";

pub(crate) struct NoModel {
    pub(crate) why: String,
    pub(crate) hint: String,
    /// Hint to get web search.
    pub(crate) web_hint: String,
    /// Name of the model that would embed.
    pub(crate) embeds_as: String,
}

impl NoModel {
    /// Creates a placeholder for a provider that is not configured. `key` is the setting for its key.
    pub(crate) fn from_provider(name: ProviderName, key: &str, embeds_as: String) -> Self {
        let hint = format!("Set {key}, or choose another provider in [models].");
        let web_hint = match name {
            ProviderName::Ollama => {
                "It has no web search; choose openai, gemini or anthropic as llm in [models].".to_owned()
            }
            _ => hint.clone(),
        };
        Self { why: format!("{name} is chosen in [models] but not configured"), hint, web_hint, embeds_as }
    }
}

#[async_trait]
impl Embedder for NoModel {
    fn model(&self) -> &str {
        &self.embeds_as
    }

    async fn embed(
        &self,
        _texts: &[String],
        _purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        Err(unavailable(&self.why, &self.hint))
    }
}

#[async_trait]
impl Llm for NoModel {
    fn model(&self) -> Option<&str> {
        None
    }

    fn web_model(&self) -> Option<&str> {
        None
    }

    async fn complete(
        &self,
        prompt: ModelPrompt,
        _on_progress: OnCompletionProgress<'_>,
    ) -> Result<ModelCompletion, Fault> {
        Err(unavailable(&self.why, if prompt.web_search { &self.web_hint } else { &self.hint }))
    }
}

pub(crate) fn no_web(model: &str, hint: &str) -> Fault {
    unavailable(&format!("{model} cannot search the web"), hint)
}

fn unavailable(why: &str, hint: &str) -> Fault {
    Fault { retryable: false, ..Fault::unavailable(why).hint(hint) }
}

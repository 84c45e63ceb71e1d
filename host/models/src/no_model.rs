//! What answers where no model does: why not, and what would change it. Nobody else takes the place of a provider that
//! was chosen and has no key.

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        embed::{Embedder, EmbeddingPurpose, EmbeddingVector},
        llm::{Llm, ModelCompletion, ModelPrompt, OnCompletionProgress},
    },
};

use crate::config::ProviderName;

/// Why nobody answers, where nobody was set up.
pub(crate) const NOT_CONFIGURED: &str = "No language model is configured.";

/// Why nobody answers, where the operator wanted it so.
pub(crate) const SWITCHED_OFF: &str = "Language models are switched off (llm = \"off\" in [models]).";

/// No model.
pub(crate) struct NoModel {
    /// Why nobody answers.
    pub(crate) why: String,
    /// What would change that.
    pub(crate) hint: String,
    /// What would bring one that searches the web.
    pub(crate) web_hint: String,
    /// What would make the vectors.
    pub(crate) embeds_as: String,
}

impl NoModel {
    /// A provider that was chosen and is not set up; `key` is what its key needs.
    pub(crate) fn from_provider(name: ProviderName, key: &str, embeds_as: String) -> Self {
        let hint = format!("Set {key}, or choose another provider in [models].");
        let web_hint = match name {
            ProviderName::Ollama => {
                "It could not search the web; choose openai, gemini or anthropic as llm in [models]."
                    .to_owned()
            }
            _ => hint.clone(),
        };
        Self { why: format!("{name} is chosen in [models] and is not set up."), hint, web_hint, embeds_as }
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

/// Why a model that cannot search the web does not answer a question that wants it, and what would help.
pub(crate) fn no_web(model: &str, hint: &str) -> Fault {
    unavailable(&format!("{model} cannot search the web."), hint)
}

fn unavailable(why: &str, hint: &str) -> Fault {
    Fault { retryable: false, ..Fault::unavailable(why).hint(hint) }
}

//! A provider that was chosen and has no key: its faults say what is missing, and nobody takes its place.

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        embed::{EmbedFor, Embedder, Vector},
        llm::{Completion, Llm, OnProgress, Prompt},
    },
};

use crate::config::ProviderName;

/// A provider that was named and has no key.
pub(crate) struct NotSetUp {
    name: ProviderName,
    model: String,
    /// What its key needs.
    key: String,
}

impl NotSetUp {
    /// `model` is what its vectors would be made by; `key` is what its key needs.
    pub(crate) fn new(name: ProviderName, model: String, key: String) -> Self {
        Self { name, model, key }
    }

    fn why(&self) -> String {
        format!("{} is chosen in [models] and is not set up.", self.name)
    }

    fn hint(&self, web_search: bool) -> String {
        match self.name {
            ProviderName::Ollama if web_search => {
                "It could not search the web; choose openai, gemini or anthropic as llm in [models]."
                    .to_owned()
            }
            _ => format!("Set {}, or choose another provider in [models].", self.key),
        }
    }

    /// What is wrong and what would help, in one line.
    pub(crate) fn said(&self) -> String {
        format!("{} {}", self.why(), self.hint(false))
    }

    fn fault(&self, web_search: bool) -> Fault {
        let mut fault = Fault::unavailable(self.why()).hint(self.hint(web_search));
        fault.retryable = false;
        fault
    }
}

#[async_trait]
impl Embedder for NotSetUp {
    fn model(&self) -> &str {
        &self.model
    }

    async fn embed(&self, _texts: &[String], _purpose: EmbedFor) -> Result<Vec<Vector>, Fault> {
        Err(self.fault(false))
    }
}

#[async_trait]
impl Llm for NotSetUp {
    fn model(&self) -> Option<&str> {
        None
    }

    fn web_model(&self) -> Option<&str> {
        None
    }

    async fn complete(&self, prompt: Prompt, _on_progress: OnProgress<'_>) -> Result<Completion, Fault> {
        Err(self.fault(prompt.web_search))
    }
}

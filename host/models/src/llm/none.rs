//! What answers where nobody is set up: why not, and what would change it.

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::llm::{Completion, Hear, Llm, Prompt},
};

/// No language model at all.
pub(crate) struct NoLlm {
    /// The operator wanted it so.
    pub(crate) off: bool,
}

#[async_trait]
impl Llm for NoLlm {
    fn model(&self) -> Option<&str> {
        None
    }

    fn web_model(&self) -> Option<&str> {
        None
    }

    async fn complete(&self, _prompt: Prompt, _hear: Hear<'_>) -> Result<Completion, Fault> {
        let mut fault = if self.off {
            Fault::unavailable("Language models are switched off (llm = \"off\" in [models]).")
                .hint("Set llm to \"auto\" or to a provider in [models].")
        } else {
            Fault::unavailable("No language model is configured.")
                .hint("Set one of OPENAI_API_KEY, GEMINI_API_KEY, ANTHROPIC_API_KEY or OLLAMA_HOST.")
        };
        fault.retryable = false;
        Err(fault)
    }
}

/// Why a model that cannot search the web does not answer a question that wants it.
pub(crate) fn no_web(model: &str) -> Fault {
    let mut fault = Fault::unavailable(format!("{model} cannot search the web."))
        .hint("Set one of OPENAI_API_KEY, GEMINI_API_KEY or ANTHROPIC_API_KEY.");
    fault.retryable = false;
    fault
}

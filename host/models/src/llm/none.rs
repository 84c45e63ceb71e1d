//! What answers where nobody is set up: why not, and what would change it.

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::llm::{Completion, Llm, OnProgress, Prompt},
};

/// No language model at all.
pub(crate) struct NoLlm {
    /// Why nobody answers.
    pub(crate) why: &'static str,
    /// What would change that.
    pub(crate) hint: String,
    /// What would bring one that searches the web.
    pub(crate) web_hint: String,
}

/// Why nobody answers, where nobody was set up.
pub(crate) const NOBODY: &str = "No language model is configured.";

/// Why nobody answers, where the operator wanted it so.
pub(crate) const OFF: &str = "Language models are switched off (llm = \"off\" in [models]).";

#[async_trait]
impl Llm for NoLlm {
    fn model(&self) -> Option<&str> {
        None
    }

    fn web_model(&self) -> Option<&str> {
        None
    }

    async fn complete(&self, prompt: Prompt, _on_progress: OnProgress<'_>) -> Result<Completion, Fault> {
        let hint = if prompt.web_search { &self.web_hint } else { &self.hint };
        let mut fault = Fault::unavailable(self.why).hint(hint.clone());
        fault.retryable = false;
        Err(fault)
    }
}

/// Why a model that cannot search the web does not answer a question that wants it, and what would help.
pub(crate) fn no_web(model: &str, hint: &str) -> Fault {
    let mut fault = Fault::unavailable(format!("{model} cannot search the web.")).hint(hint);
    fault.retryable = false;
    fault
}

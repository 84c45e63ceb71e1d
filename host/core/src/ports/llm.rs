//! Language models.

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::Fault;

/// How much the model reads from the web and how long it thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningDepth {
    #[default]
    Light,
    Deep,
}

#[derive(Debug, Clone)]
pub struct ModelPrompt {
    pub system: Option<String>,
    pub text: String,
    /// JSON Schema of the answer, an object. Check the answer too, because not all providers enforce it.
    pub schema: Option<Map<String, Value>>,
    /// Maximum tokens of the answer. `None` for the provider's limit.
    pub max_tokens: Option<u32>,
    /// 0 to 2. `None` for the model's default. Ignored by models without a temperature.
    pub temperature: Option<f32>,
    pub web_search: bool,
    pub depth: ReasoningDepth,
    /// Deadline, including retries.
    pub deadline: Instant,
}

/// A page that the model read or quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebSource {
    /// Absolute http or https URL.
    pub url: String,
    /// Page title, if the provider reports it.
    pub title: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelCompletion {
    pub text: String,
    /// Pages used, without duplicates, in order of first mention. Empty without web search.
    pub sources: Vec<WebSource>,
    /// `provider/model` as reported by the provider.
    pub model: String,
    pub tokens: Option<TokenUsage>,
    /// Why the text is incomplete. `None` if it is complete.
    pub cut_short: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenUsage {
    pub input: u64,
    /// Includes reasoning tokens.
    pub output: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionProgress {
    /// The model searches the web. Has the query, if the provider reports it.
    Searching(Option<String>),
    Writing(usize),
}

pub type OnCompletionProgress<'a> = &'a (dyn Fn(CompletionProgress) + Send + Sync);

/// A language model. Dropping the future cancels the request.
#[async_trait]
pub trait Llm: Send + Sync {
    /// Returns the `provider/model` that answers. `None` if no model is configured.
    fn model(&self) -> Option<&str>;

    /// Returns the `provider/model` that answers with web search. `None` if no configured model can search.
    fn web_model(&self) -> Option<&str>;

    /// Completes a prompt. Retries transient errors (429, 5xx) until the deadline.
    ///
    /// # Errors
    ///
    /// `unavailable` if no model is configured or the provider is unreachable, `denied` for an invalid key, `exhausted`
    /// if the quota does not recover, `timed-out`, and `internal` for a malformed response. Names the provider and its
    /// address, never a key.
    async fn complete(
        &self,
        prompt: ModelPrompt,
        on_progress: OnCompletionProgress<'_>,
    ) -> Result<ModelCompletion, Fault>;
}

//! Asking a language model.

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::outcome::Fault;

/// How hard the model should try: how much it reads from the web, how long it thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReasoningDepth {
    /// A quick answer.
    #[default]
    Light,
    /// A thorough one.
    Deep,
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub struct ModelPrompt {
    /// What it is and how it should answer.
    pub system: Option<String>,
    /// The question.
    pub text: String,
    /// JSON Schema of the answer, an object. Where the provider can hold the model to it, it does; the answer
    /// has to be checked all the same.
    pub schema: Option<Map<String, Value>>,
    /// The most tokens of the answer; the provider's own limit where none is given.
    pub max_tokens: Option<u32>,
    /// 0 to 2; the model's own where none is given. Models that take none ignore it.
    pub temperature: Option<f32>,
    /// Whether it may search the web.
    pub web_search: bool,
    /// How hard it should try.
    pub depth: ReasoningDepth,
    /// When it has to be over, retries included.
    pub deadline: Instant,
}

/// A page that the model read or quotes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebSource {
    /// Absolute, http or https.
    pub url: String,
    /// What the page calls itself, where the provider says so.
    pub title: Option<String>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelCompletion {
    /// The text.
    pub text: String,
    /// Pages it was made of, each once, in the order they were named first. Empty without web search.
    pub sources: Vec<WebSource>,
    /// `provider/model` as the provider reports it.
    pub model: String,
    /// Tokens that were read and written, where the provider says so.
    pub tokens: Option<TokenUsage>,
    /// Why the text ends before the model was done: the connection broke, the limit was reached. None where
    /// the answer is whole.
    pub cut_short: Option<String>,
}

/// What an answer cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenUsage {
    /// Tokens that the model read.
    pub input: u64,
    /// Tokens that it wrote, those of its thoughts included.
    pub output: u64,
}

/// How far an answer has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompletionProgress {
    /// The model searches the web; for what, where the provider says so.
    Searching(Option<String>),
    /// It has written so many characters.
    Writing(usize),
}

/// Hears how far an answer has come.
pub type OnCompletionProgress<'a> = &'a (dyn Fn(CompletionProgress) + Send + Sync);

/// A language model. Dropping the future ends the request.
#[async_trait]
pub trait Llm: Send + Sync {
    /// `provider/model` that would answer; none where nothing is configured.
    fn model(&self) -> Option<&str>;

    /// `provider/model` that would answer with web search; none where none that is configured can search.
    fn web_model(&self) -> Option<&str>;

    /// Asks. Faults that pass by themselves (429, 5xx) have been retried before, as long as the deadline let
    /// them.
    ///
    /// # Errors
    /// `unavailable` where nothing is configured (naming the variables that would change it) or the provider
    /// cannot be reached, `denied` for a wrong key, `exhausted` for a quota that retries did not outlast,
    /// `timed-out`, `internal` for an answer in the wrong form. Names the provider and its address, never a key.
    async fn complete(
        &self,
        prompt: ModelPrompt,
        on_progress: OnCompletionProgress<'_>,
    ) -> Result<ModelCompletion, Fault>;
}

//! Language models: one file per provider, and the streaming they share.

pub(crate) mod anthropic;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai;
mod partial;
mod schema;

use async_trait::async_trait;
use bytes::Bytes;
use gatehouse_core::{
    Fault,
    ports::llm::{Llm, ModelCompletion, ModelPrompt, OnCompletionProgress, ReasoningDepth},
};
use serde_json::{Value, json};
use tokio::time::Instant;

pub(crate) use partial::{EventResult, PartialCompletion, StreamFlow};

use crate::{
    no_model::no_web,
    provider::{AttemptFailure, Provider, ResponseEvents, StreamError, StreamFraming},
};

/// Parser for the events of a response.
pub(crate) trait ParseEvents: Send {
    /// Adds an event to the partial completion.
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> EventResult;

    /// Returns the request that resumes a paused response, by the first one. `None` if it is not paused.
    fn continuation(&mut self, _first: &Value) -> Option<Value> {
        None
    }
}

/// The API of a provider.
pub(crate) trait LlmApi: Send + Sync {
    const FRAMING: StreamFraming = StreamFraming::Sse;

    /// Hint to get web search. `None` if this API supports it.
    const NO_WEB: Option<&'static str> = None;

    fn request(&self, model: &str, prompt: &ModelPrompt) -> (String, Value);

    fn parser(&self, prompt: &ModelPrompt) -> impl ParseEvents;
}

pub(crate) struct ProviderLlm<A> {
    provider: Provider,
    /// Name at the provider.
    model: String,
    /// `provider/model`.
    name: String,
    api: A,
}

impl<A> ProviderLlm<A> {
    pub(crate) fn new(provider: Provider, model: String, api: A) -> Self {
        Self { name: provider.model(&model), provider, model, api }
    }
}

pub(crate) struct LlmRequest<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) prompt: &'a ModelPrompt,
    pub(crate) model: &'a str,
    path: String,
    pub(crate) body: Value,
    framing: StreamFraming,
}

#[async_trait]
impl<A: LlmApi> Llm for ProviderLlm<A> {
    fn model(&self) -> Option<&str> {
        Some(&self.name)
    }

    fn web_model(&self) -> Option<&str> {
        A::NO_WEB.is_none().then_some(&*self.name)
    }

    /// Sends a prompt, with retries, and reads the whole response.
    async fn complete(
        &self,
        prompt: ModelPrompt,
        on_progress: OnCompletionProgress<'_>,
    ) -> Result<ModelCompletion, Fault> {
        if let Some(hint) = A::NO_WEB.filter(|_| prompt.web_search) {
            return Err(no_web(&self.name, hint));
        }
        let start = Instant::now();
        let (provider, prompt, model) = (&self.provider, &prompt, self.model.as_str());
        let (path, body) = self.api.request(model, prompt);
        let first = Bytes::from(body.to_string());
        let request = LlmRequest { provider, prompt, model, path, body, framing: A::FRAMING };
        let answer = provider.with_retries(prompt.deadline, || async {
            let mut partial = PartialCompletion::new(provider, on_progress);
            let mut parser = self.api.parser(prompt);
            read_answer(&request, &first, &mut parser, &mut partial).await?;
            while partial.cut_short.is_none()
                && let Some(body) = parser.continuation(&request.body)
            {
                partial.finished = false;
                read_answer(&request, &Bytes::from(body.to_string()), &mut parser, &mut partial).await?;
            }
            partial.finish(&request)
        });
        let answer = answer.await?;
        logged(&answer, prompt, start);
        Ok(answer)
    }
}

/// Reads one response. Text from before a failure stays in `partial`.
async fn read_answer(
    request: &LlmRequest<'_>,
    body: &Bytes,
    parser: &mut impl ParseEvents,
    partial: &mut PartialCompletion<'_>,
) -> Result<(), AttemptFailure> {
    let LlmRequest { provider, prompt, path, framing, .. } = request;
    let closed_early = || {
        let error = StreamError::Connection("the connection was closed early".to_owned());
        AttemptFailure::broken(provider, &error)
    };
    let (response, _slot) = match provider.post(path, body, prompt.deadline).await {
        Ok(answering) => answering,
        Err(failure) => return partial.end_with_failure(failure),
    };
    let mut events = ResponseEvents::new(response, *framing, prompt.deadline, provider.timeout());
    loop {
        let data = match events.next().await {
            Ok(Some(data)) => data,
            Ok(None) if partial.finished => return Ok(()),
            Ok(None) if events.has_no_events() => {
                return Err(AttemptFailure::internal(provider, "did not answer with an event stream"));
            }
            Ok(None) => return partial.end_with_failure(closed_early()),
            Err(error) => return partial.end_with_failure(AttemptFailure::broken(provider, &error)),
        };
        if data == b"[DONE]" {
            if partial.finished {
                return Ok(());
            }
            continue;
        }
        let Ok(event) = serde_json::from_slice::<Value>(&data) else {
            if events.has_ended() {
                return partial.end_with_failure(closed_early());
            }
            return partial
                .end_with_failure(AttemptFailure::internal(provider, "sent an event that is not JSON"));
        };
        match parser.event(&event, partial) {
            Ok(StreamFlow::More) => {}
            Ok(StreamFlow::Done) => return Ok(()),
            Err(failure) => return partial.end_with_failure(failure),
        }
    }
}

/// Sets a key of a request if there is a value.
fn set(object: &mut Value, key: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        object[key] = value.into();
    }
}

/// Returns a prompt as the messages of a chat.
fn messages(prompt: &ModelPrompt) -> Vec<Value> {
    let system = prompt.system.iter().map(|text| json!({ "role": "system", "content": text }));
    system.chain([json!({ "role": "user", "content": prompt.text })]).collect()
}

/// Reasoning effort, mapped to each provider's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReasoningEffort {
    Low,
    Medium,
    High,
}

impl ReasoningEffort {
    pub(crate) fn from_prompt(prompt: &ModelPrompt) -> Self {
        match (prompt.depth, prompt.web_search) {
            (ReasoningDepth::Deep, _) => Self::High,
            (ReasoningDepth::Light, true) => Self::Medium,
            (ReasoningDepth::Light, false) => Self::Low,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// Logs usage, but never content.
fn logged(answer: &ModelCompletion, prompt: &ModelPrompt, start: Instant) {
    let tokens = answer.tokens;
    tracing::info!(
        target: "models",
        model = %answer.model,
        input_tokens = tokens.map(|tokens| tokens.input),
        output_tokens = tokens.map(|tokens| tokens.output),
        web_search = prompt.web_search,
        sources = answer.sources.len(),
        cut_short = answer.cut_short.as_deref(),
        ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX),
        "a model answered"
    );
}

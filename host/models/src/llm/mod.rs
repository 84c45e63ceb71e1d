//! Language models, one provider a file. Each makes a request of a prompt and reads the events of the answer;
//! what happens between is the same for all of them and is here.

pub(crate) mod anthropic;
pub(crate) mod gemini;
mod none;
pub(crate) mod ollama;
pub(crate) mod openai;
mod partial;
mod schema;
mod sources;

use bytes::Bytes;
use gatehouse_core::{
    Fault,
    ports::llm::{Completion, Depth, OnProgress, Prompt},
};
use serde_json::Value;
use tokio::time::Instant;

pub(crate) use none::{NOBODY, NoLlm, OFF, no_web};
pub(crate) use partial::{Flow, PartialCompletion};

use crate::provider::{Events, Failure, Framing, Provider, StreamError};

/// How an answer is read.
pub(crate) trait ParseEvents: Send {
    /// What an event adds to the partial answer; the error ends the attempt.
    fn event(&mut self, event: &Value, partial: &mut PartialCompletion<'_>) -> Result<Flow, Failure>;

    /// The request that makes the model go on, where it only paused.
    fn continuation(&mut self) -> Option<Value> {
        None
    }
}

/// What is sent for a prompt.
pub(crate) struct LlmRequest<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) prompt: &'a Prompt,
    /// The model that is asked.
    pub(crate) model: &'a str,
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) framing: Framing,
}

impl LlmRequest<'_> {
    /// Asks, again where it makes sense, and reads the answer to its end.
    pub(crate) async fn ask<L: ParseEvents>(
        &self,
        parser: impl Fn() -> L + Sync,
        on_progress: OnProgress<'_>,
    ) -> Result<Completion, Fault> {
        let start = Instant::now();
        let body = Bytes::from(self.body.to_string());
        let partial = self.provider.with_retries(self.prompt.deadline, || async {
            let mut partial = PartialCompletion::new(on_progress);
            let mut parser = parser();
            read_answer(self, &body, &mut parser, &mut partial).await?;
            while partial.cut_short.is_none()
                && let Some(body) = parser.continuation()
            {
                partial.finished = false;
                read_answer(self, &Bytes::from(body.to_string()), &mut parser, &mut partial).await?;
            }
            partial.done(self)
        });
        let answer = partial.await?;
        logged(&answer, self.prompt, start);
        Ok(answer)
    }
}

/// Reads one answer; what came before it broke off stays in the partial answer.
async fn read_answer(
    request: &LlmRequest<'_>,
    body: &Bytes,
    parser: &mut impl ParseEvents,
    partial: &mut PartialCompletion<'_>,
) -> Result<(), Failure> {
    let LlmRequest { provider, prompt, path, framing, .. } = request;
    let (response, _slot) = match provider.post(path, body, prompt.deadline).await {
        Ok(answering) => answering,
        Err(failure) => return partial.keep(failure),
    };
    let mut events = Events::new(response, *framing, prompt.deadline, provider.timeout());
    loop {
        let data = match events.next().await {
            Ok(Some(data)) => data,
            Ok(None) if partial.may_end() => return Ok(()),
            Ok(None) if events.are_none() => {
                return Err(Failure::internal(
                    provider,
                    "answered with something that is not a stream of events",
                ));
            }
            Ok(None) => {
                let broken = StreamError::Connection("the connection was closed early".to_owned());
                return partial.broken(provider, &broken);
            }
            Err(broken) => return partial.broken(provider, &broken),
        };
        if data == b"[DONE]" {
            if partial.may_end() {
                return Ok(());
            }
            continue;
        }
        let Ok(event) = serde_json::from_slice::<Value>(&data) else {
            if events.are_over() {
                let broken = StreamError::Connection("the connection was closed early".to_owned());
                return partial.broken(provider, &broken);
            }
            return partial.keep(Failure::internal(provider, "sends events that are not JSON"));
        };
        match parser.event(&event, partial) {
            Ok(Flow::More) => {}
            Ok(Flow::Done) => return Ok(()),
            Err(failure) => return partial.keep(failure),
        }
    }
}

/// How hard a model should think: of three words, or as the provider has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// A plain question that is to be answered quickly.
    Low,
    /// A quick search.
    Medium,
    /// A thorough answer.
    High,
}

impl Effort {
    pub(crate) fn of(prompt: &Prompt) -> Self {
        match (prompt.depth, prompt.web_search) {
            (Depth::Deep, _) => Self::High,
            (Depth::Light, true) => Self::Medium,
            (Depth::Light, false) => Self::Low,
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

/// Usage in the log; never what was asked or answered.
fn logged(answer: &Completion, prompt: &Prompt, start: Instant) {
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

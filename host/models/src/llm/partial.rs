//! The state of a response while it is streamed.

use gatehouse_core::{
    Fault,
    names::quoted,
    ports::llm::{CompletionProgress, ModelCompletion, OnCompletionProgress, TokenUsage},
};
use serde_json::Value;

use super::{LlmRequest, schema, sources::WebSources};
use crate::provider::AttemptFailure;

const MAX_TEXT: usize = 1 << 20;

/// Characters between progress reports.
const PROGRESS_STEP_CHARS: usize = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamFlow {
    More,
    Done,
}

/// Result of one event. An error ends the attempt.
pub(crate) type EventResult = Result<StreamFlow, AttemptFailure>;

pub(crate) struct PartialCompletion<'a> {
    pub(crate) text: String,
    pub(crate) sources: WebSources,
    pub(crate) model: Option<String>,
    pub(crate) tokens: Option<TokenUsage>,
    pub(crate) cut_short: Option<String>,
    /// True once the provider has ended the text; later events only add metadata.
    pub(crate) finished: bool,
    written: usize,
    reported: usize,
    on_progress: OnCompletionProgress<'a>,
}

impl<'a> PartialCompletion<'a> {
    pub(crate) fn new(on_progress: OnCompletionProgress<'a>) -> Self {
        Self {
            text: String::new(),
            sources: WebSources::default(),
            model: None,
            tokens: None,
            cut_short: None,
            finished: false,
            written: 0,
            reported: 0,
            on_progress,
        }
    }

    /// Returns `Done` if there is no room for more.
    pub(crate) fn write(&mut self, piece: &str) -> StreamFlow {
        let room = MAX_TEXT - self.text.len();
        let kept = &piece[..piece.floor_char_boundary(room)];
        self.text.push_str(kept);
        self.written += kept.chars().count();
        if !kept.is_empty() && (self.reported == 0 || self.written >= self.reported + PROGRESS_STEP_CHARS) {
            self.reported = self.written;
            (self.on_progress)(CompletionProgress::Writing(self.written));
        }
        if kept.len() < piece.len() {
            self.cut_short = Some("it is longer than 1 MiB".to_owned());
            return StreamFlow::Done;
        }
        StreamFlow::More
    }

    /// Reports a web search. Some providers do not send the query.
    pub(crate) fn report_search(&self, query: Option<&str>) {
        (self.on_progress)(CompletionProgress::Searching(
            query.map(|query| quoted(query, 200)).filter(|query| !query.is_empty()),
        ));
    }

    pub(crate) fn set_model(&mut self, model: &Value) {
        if let Some(model) = model.as_str().filter(|model| !model.is_empty()) {
            self.model = Some(quoted(model, 128));
        }
    }

    /// Records token usage; a missing number counts as zero.
    pub(crate) fn record_usage(&mut self, input: Option<u64>, output: Option<u64>) {
        if input.is_some() || output.is_some() {
            self.tokens = Some(TokenUsage { input: input.unwrap_or(0), output: output.unwrap_or(0) });
        }
    }

    pub(crate) fn out_of_tokens(&mut self) {
        self.cut_short = Some("the token limit was reached".to_owned());
    }

    /// Succeeds if there is text, unless the model refused to answer.
    pub(crate) fn end_with_failure(&mut self, failure: AttemptFailure) -> Result<(), AttemptFailure> {
        if self.finished {
            return Ok(());
        }
        if self.text.trim().is_empty() || failure.is_refusal() {
            return Err(failure);
        }
        self.cut_short = Some(failure.fault.message);
        Ok(())
    }

    pub(crate) fn finish(mut self, request: &LlmRequest<'_>) -> Result<ModelCompletion, AttemptFailure> {
        let provider = request.provider;
        if self.text.trim().is_empty() {
            let Some(why) = self.cut_short else {
                return Err(AttemptFailure::internal(provider, "returned no text"));
            };
            return Err(AttemptFailure::permanent(
                Fault::exhausted(format!("{} returned no text: {why}", provider.subject()))
                    .hint("Raise max_tokens; reasoning counts too."),
            ));
        }
        // Report the final length.
        if self.reported < self.written {
            (self.on_progress)(CompletionProgress::Writing(self.written));
        }
        if request.prompt.schema.is_some()
            && self.cut_short.is_none()
            && let Some(object) = schema::object_in(&self.text)
            && object.len() < self.text.len()
        {
            self.text = object.to_owned();
        }
        let model = self.model.as_deref().unwrap_or(request.model);
        Ok(ModelCompletion {
            model: provider.model(model),
            sources: self.sources.list(),
            text: self.text,
            tokens: self.tokens,
            cut_short: self.cut_short,
        })
    }
}

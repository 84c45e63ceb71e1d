//! Metadata of a research call, and the reasons for cut or unreadable answers.

use gatehouse_sdk::{
    Fault, FaultKind,
    context::{self, Level},
    models::Completion,
};
use gatehouse_wiki::one_line;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{Depth, ask::ResearchRequest};

/// Metadata of the answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResearchRun {
    /// Research effort.
    pub(crate) depth: Depth,
    /// Answers omitted because they name no page.
    pub(crate) left_out: usize,
    /// Pages the model read, by the provider's account; 0 if unknown.
    pub(crate) pages_read: usize,
    /// Why the answer ends early; the content here is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cut_short: Option<String>,
    /// The provider/model that answered.
    pub(crate) model: String,
    /// Token usage, if the provider reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<TokenCounts>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenCounts {
    input: u64,
    output: u64,
}

impl ResearchRun {
    /// Collects the metadata and logs it: figures only, never the query or the answer.
    pub(crate) fn new(
        tool: &str,
        request: &ResearchRequest,
        answer: &Completion,
        cut_short: Option<String>,
        kept: usize,
        left_out: usize,
    ) -> Self {
        let run = Self {
            depth: request.depth,
            left_out,
            pages_read: answer.sources.len(),
            cut_short,
            model: one_line(&answer.model, 100),
            tokens: answer.tokens.map(|tokens| TokenCounts { input: tokens.input, output: tokens.output }),
        };
        let fields = json!({
            "tool": tool, "depth": request.depth, "kept": kept, "left_out": left_out, "pages_read": run.pages_read,
            "cut_short": run.cut_short.is_some(), "model": run.model, "tokens": run.tokens,
        });
        context::log(Level::Info, "research", &fields.to_string());
        run
    }
}

pub(crate) fn cut_reason(answer: &Completion, whole: bool) -> Option<String> {
    match &answer.cut_short {
        Some(reason) => Some(short_reason(reason)),
        None => (!whole).then(|| "its text ends or breaks in the middle".to_owned()),
    }
}

fn short_reason(reason: &str) -> String {
    one_line(reason, 200).trim_end_matches('.').to_owned()
}

/// Creates the fault for an unusable answer, which is a failure, not "nothing found".
pub(crate) fn unreadable(answer: &Completion) -> Fault {
    let model = one_line(&answer.model, 100);
    let reason = match &answer.cut_short {
        Some(reason) => format!("was cut short before any part was complete: {}", short_reason(reason)),
        None => "does not have the requested form".into(),
    };
    Fault::new(FaultKind::Unavailable, format!("research failed: the answer of model '{model}' {reason}"))
        .hint("Retry, request less (a smaller top_k, depth light), or configure another model for the host.")
}

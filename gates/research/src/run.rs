//! The account of one research: how its answer came about, and why one is cut short or unreadable.

use gatehouse_sdk::{
    Fault, FaultKind,
    context::{self, Level},
    models::Completion,
};
use gatehouse_wiki::one_line;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::{Depth, args::ResearchRequest};

/// How an answer came about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ResearchRun {
    /// How hard the model tried.
    pub(crate) depth: Depth,
    /// What the model answered and was left out, because it names no page.
    pub(crate) left_out: usize,
    /// Pages that the provider says the model read; 0 where it names none.
    pub(crate) pages_read: usize,
    /// Why the answer ends too early; what is here is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cut_short: Option<String>,
    /// provider/model that answered.
    pub(crate) model: String,
    /// What it cost, where the provider says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<TokenCounts>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenCounts {
    input: u64,
    output: u64,
}

impl ResearchRun {
    /// The account, which also goes to the log: figures, never what was asked or answered.
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

/// Why an answer is not all there.
pub(crate) fn cut_reason(answer: &Completion, whole: bool) -> Option<String> {
    match &answer.cut_short {
        Some(why) => Some(reason(why)),
        None => (!whole).then(|| "its text ends, or breaks, in the middle".to_owned()),
    }
}

/// Why, as the end of a sentence that goes on.
fn reason(why: &str) -> String {
    one_line(why, 200).trim_end_matches('.').to_owned()
}

/// An answer of which nothing can be used: a failure, not "nothing found".
pub(crate) fn unreadable(answer: &Completion) -> Fault {
    let model = one_line(&answer.model, 100);
    let why = match &answer.cut_short {
        Some(why) => format!("was cut short before anything of it was whole: {}", reason(why)),
        None => "is not in the form that was asked for".into(),
    };
    Fault::new(FaultKind::Unavailable, format!("Research error: the answer of model '{model}' {why}."))
        .hint("Ask again, ask for less (a smaller top_k, depth light), or let the host use another model.")
}

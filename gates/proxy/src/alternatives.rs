//! `get_tool_alternatives`: finds tools to call instead of a tool, and tools that are often called with it.

use gatehouse_sdk::{
    Call, Count, Fault, Reply, Tool,
    servers::{self, Alternative, RelatedTool},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, reply_format, search::with_server, servers::with_names};

const MAX_ALTERNATIVES: u32 = 50;

const MAX_RELATED: u32 = 3;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    server: String,
    tool: String,
    error: Option<String>,
    top_k: Option<Count>,
}

/// Alternative to a tool; the score is the product of the factors.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct ToolSuggestion {
    pub(crate) server: String,
    pub(crate) tool: String,
    signature: String,
    score: f64,
    similarity: f64,
    success_rate: f64,
    recency: f64,
    reason: String,
}

/// Tool that is called after this one, or by the same callers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RelatedToolData {
    server: String,
    tool: String,
    /// True if called next, else by the same callers.
    follows: bool,
    together: u64,
    of: u64,
    /// How many times as often as by chance.
    lift: f64,
}

#[derive(Serialize, JsonSchema)]
struct AlternativesReply {
    alternatives: Vec<ToolSuggestion>,
    related: Vec<RelatedToolData>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("get_tool_alternatives")
        .description(|_| "Find alternatives to a tool.")
        .output::<AlternativesReply>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let Args { server, tool, error, top_k } = args;
    let limit = top_k.map_or(5, |top_k| top_k.at_most(MAX_ALTERNATIVES));
    let alternatives = servers::alternatives(&server, &tool, error.as_deref(), limit).map_err(with_names)?;
    let alternatives: Vec<ToolSuggestion> = alternatives.into_iter().map(suggestion).collect();
    // Without a readable ledger, the reply has only the alternatives.
    let related = related(&server, &tool).unwrap_or_default();
    let mut lines: Vec<String> = alternatives.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("No other tool does this.".into());
    }
    lines.extend(related.iter().map(related_line));
    Reply::markdown(lines.join("\n")).structured(&AlternativesReply { alternatives, related })
}

pub(crate) fn suggestion(alternative: Alternative) -> ToolSuggestion {
    ToolSuggestion {
        server: alternative.server,
        tool: alternative.tool,
        signature: alternative.signature,
        score: reply_format::two_places(alternative.score),
        similarity: reply_format::two_places(alternative.similarity),
        success_rate: reply_format::two_places(alternative.success_rate),
        recency: reply_format::two_places(alternative.recency),
        reason: alternative.reason,
    }
}

impl ToolSuggestion {
    pub(crate) fn matches(&self, server: &str, tool: &str) -> bool {
        self.server == server && self.tool == tool
    }
}

pub(crate) fn line(tool: &ToolSuggestion) -> String {
    format!("{} [{}: {}]", with_server(&tool.server, &tool.signature), tool.score, tool.reason)
}

pub(crate) fn related(server: &str, tool: &str) -> Result<Vec<RelatedToolData>, Fault> {
    let related = servers::related(server, tool, MAX_RELATED)?;
    let to_data = |tool: RelatedTool| RelatedToolData {
        server: tool.server,
        tool: tool.tool,
        follows: tool.follows,
        together: tool.together,
        of: tool.of,
        lift: reply_format::one_place(tool.lift),
    };
    Ok(related.into_iter().map(to_data).collect())
}

pub(crate) fn related_line(related: &RelatedToolData) -> String {
    let RelatedToolData { server, tool, together, of, lift, .. } = related;
    let order = if related.follows { "called next" } else { "by the same callers" };
    format!("Often {order}: {server}: {tool} ({together} of {of}, {lift} times as often as by chance)")
}

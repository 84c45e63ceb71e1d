//! `get_tool_alternatives`: what to call instead of a tool, and what is called with it.

use gatehouse_sdk::{
    Call, Count, Fault, Reply, Tool,
    servers::{self, Alternative, RelatedTool},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, named, search::with_server, servers::with_names};

/// Alternatives of one reply at most.
const MOST: u32 = 50;

/// Related tools that are told.
const RELATED: u32 = 3;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    server: String,
    tool: String,
    error: Option<String>,
    top_k: Option<Count>,
}

/// A tool that may stand in for another; the score is the product of the factors.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Suggestion {
    pub(crate) server: String,
    pub(crate) tool: String,
    signature: String,
    score: f64,
    similarity: f64,
    success_rate: f64,
    recency: f64,
    reason: String,
}

/// A tool that is called after this one, or by the same callers.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Related {
    server: String,
    tool: String,
    /// Whether it is called next; else by the same callers.
    follows: bool,
    together: u64,
    of: u64,
    /// How much more often than by chance.
    lift: f64,
}

#[derive(Serialize, JsonSchema)]
struct Alternatives {
    alternatives: Vec<Suggestion>,
    related: Vec<Related>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("get_tool_alternatives")
        .description(|_| "What to call instead of a tool.")
        .output::<Alternatives>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let Args { server, tool, error, top_k } = args;
    let limit = top_k.map_or(5, |top_k| top_k.at_most(MOST));
    let found = servers::alternatives(&server, &tool, error.as_deref(), limit).map_err(with_names)?;
    let alternatives: Vec<Suggestion> = found.into_iter().map(suggestion).collect();
    // Beside the point where the ledger cannot be read: the alternatives stand.
    let related = related(&server, &tool).unwrap_or_default();
    let mut lines: Vec<String> = alternatives.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("No other tool does this.".into());
    }
    lines.extend(related.iter().map(related_line));
    Reply::markdown(lines.join("\n")).structured(&Alternatives { alternatives, related })
}

pub(crate) fn suggestion(found: Alternative) -> Suggestion {
    Suggestion {
        server: found.server,
        tool: found.tool,
        signature: found.signature,
        score: named::two_places(found.score),
        similarity: named::two_places(found.similarity),
        success_rate: named::two_places(found.success_rate),
        recency: named::two_places(found.recency),
        reason: found.reason,
    }
}

impl Suggestion {
    /// Whether it is this tool.
    pub(crate) fn is(&self, server: &str, tool: &str) -> bool {
        self.server == server && self.tool == tool
    }
}

pub(crate) fn line(one: &Suggestion) -> String {
    format!("{} [{}: {}]", with_server(&one.server, &one.signature), one.score, one.reason)
}

/// What is called with a tool.
pub(crate) fn related(server: &str, tool: &str) -> Result<Vec<Related>, Fault> {
    let related = servers::related(server, tool, RELATED)?;
    let shown = |one: RelatedTool| Related {
        server: one.server,
        tool: one.tool,
        follows: one.follows,
        together: one.together,
        of: one.of,
        lift: named::one_place(one.lift),
    };
    Ok(related.into_iter().map(shown).collect())
}

pub(crate) fn related_line(one: &Related) -> String {
    let Related { server, tool, together, of, lift, .. } = one;
    let what = if one.follows { "called next" } else { "by the same callers" };
    format!("Often {what}: {server}: {tool} ({together} of {of}, {lift} times as often as by chance)")
}

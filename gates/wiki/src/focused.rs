//! The whole of a gate that searches two types of page: its parameters, its arguments, its one tool.
//! idea and code are this with different words; kg, which searches everything, is not.
//!
//! With `use_llm_reranker` the configured language model orders what the engine found, see `rerank`; so
//! these gates ask for `models` beside `knowledge`. Without the grant, or without a model, the engine's
//! order stands at no cost, and no reply claims otherwise.

use gatehouse_sdk::{Call, Count, Gate, Tool, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    TOP_K_MAX, View,
    data::Ordered,
    search::{Query, search, search_and_rerank},
};

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FocusedParams {
    /// Pages that a search returns unless the call says otherwise; more than 20 count as 20.
    pub top_k: Count,
    /// Let the configured language model order the candidates, where there is one.
    pub use_llm_reranker: bool,
    /// Show how each page begins.
    pub include_content: bool,
}

impl Default for FocusedParams {
    fn default() -> Self {
        Self { top_k: Count::new(5), use_llm_reranker: true, include_content: true }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What you look for, in your own words.
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    /// Pages to return, at most 20.
    top_k: Option<Count>,
    /// Only pages with one of these domains, e.g. Deep_Learning.
    #[serde(default)]
    #[schemars(length(max = 50))]
    domains: Vec<String>,
}

/// The words that make a focused gate.
pub struct Focus {
    /// Name of the gate.
    pub gate: &'static str,
    /// One sentence about the gate.
    pub summary: &'static str,
    /// Name of its tool.
    pub tool: &'static str,
    /// The tool's name for people.
    pub title: &'static str,
    /// What the tool finds and when to use it: the first sentences of its description.
    pub when: &'static str,
    /// Where to go next: the last sentence of its description.
    pub next: &'static str,
    /// How it shows what it found.
    pub view: View,
}

/// The gate.
pub fn focused_gate(focus: &'static Focus, version: &'static str) -> Gate<FocusedParams> {
    Gate::new(focus.gate, version, focus.summary).tool(focused_tool(focus))
}

fn focused_tool(focus: &'static Focus) -> Tool<FocusedParams> {
    tool::<FocusedParams, Args>(focus.tool)
        .title(focus.title)
        .description(move |params| {
            let preview = if params.include_content { " content preview," } else { "" };
            let top_k = params.top_k.at_most(TOP_K_MAX);
            format!(
                "{} Returns up to {top_k} pages, best first, each with overview,{preview} score and linked \
                 pages. {}",
                focus.when, focus.next
            )
        })
        .default_from("top_k", |params| params.top_k.at_most(TOP_K_MAX).into())
        .idempotent()
        .output::<Ordered>()
        .run(move |call: &Call<FocusedParams>, args: Args| {
            let top_k = args.top_k.unwrap_or(call.params.top_k);
            let ask = Query { query: args.query, domains: args.domains, ..Query::default() };
            if call.params.use_llm_reranker {
                search_and_rerank(&focus.view, &ask, top_k, call.params.include_content, call.deadline_ms)
            } else {
                search(&focus.view, &ask, top_k, call.params.include_content)
            }
        })
}

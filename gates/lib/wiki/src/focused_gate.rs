//! A gate that searches two types of page: parameters, arguments and one tool. The idea and code gates use it with
//! different texts; kg, which searches all types, does not.
//!
//! With `use_llm_reranker`, the language model orders the results, so these gates also request `models`. With `page`
//! instead of `query`, the tool reads one page of any type, so that agents can read results even in presets without kg.

use gatehouse_sdk::{Call, Count, Fault, Gate, Offset, Reply, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ContentBudget, MAX_TOP_K, PageData, SearchView,
    data::RankedResults,
    read_page,
    rerank::Reranker,
    search::{PageQuery, ranked_search},
};

/// Preset parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FocusedParams {
    /// Default number of pages that a search returns, at most 20.
    pub top_k: Count,
    /// Let the configured language model order the results, if available.
    pub use_llm_reranker: bool,
    /// Show the best pages whole and parts of the others.
    pub include_content: bool,
    /// Total tokens of page content in a reply.
    pub content_tokens: Count,
}

impl Default for FocusedParams {
    fn default() -> Self {
        Self {
            top_k: Count::new(5),
            use_llm_reranker: true,
            include_content: true,
            content_tokens: Count::new(2_500),
        }
    }
}

/// Upper limit for `content_tokens`.
const MAX_CONTENT_TOKENS: u32 = 50_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Topic, in your own words.
    #[schemars(length(max = 8192))]
    query: Option<String>,
    /// Pages to return, at most 20.
    top_k: Option<Count>,
    /// Only pages with one of these domains, e.g. Deep_Learning.
    #[serde(default)]
    #[schemars(length(max = 50))]
    domains: Vec<String>,
    /// Instead of query: id of a page to read whole.
    #[schemars(length(max = 1000))]
    page: Option<String>,
    /// Character of the page to continue from.
    offset: Option<Offset>,
}

/// Search results, or the requested page.
#[derive(Serialize, JsonSchema)]
struct FocusedReply {
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    search: Option<RankedResults>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PagePiece>,
}

// Fewer fields than `get_wiki_page`: agents pay for the schema in each tool list.
#[derive(Serialize, JsonSchema)]
struct PagePiece {
    id: String,
    title: String,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// Texts and settings of a focused gate.
pub struct FocusedGateSpec {
    pub gate: &'static str,
    /// One sentence about the gate.
    pub summary: &'static str,
    /// Display name of the tool.
    pub title: &'static str,
    /// First sentences of the tool's description: its results and when to use it.
    pub when: &'static str,
    /// Last sentence of the tool's description: the tool to try next.
    pub next: &'static str,
    pub view: SearchView,
}

pub fn focused_gate(focus: &'static FocusedGateSpec, version: &'static str) -> Gate<FocusedParams> {
    let tool = tool::<FocusedParams, Args>(focus.view.tool)
        .title(focus.title)
        .description(move |params| {
            let content = if params.include_content { " content," } else { "" };
            let top_k = params.top_k.at_most(MAX_TOP_K);
            format!(
                "{} Returns up to {top_k} pages, best first, each with overview,{content} score and links; with \
                page, that page in full. {}",
                focus.when, focus.next
            )
        })
        .default_from("top_k", |params| params.top_k.at_most(MAX_TOP_K).into())
        .idempotent()
        .output::<FocusedReply>()
        .run(move |call: &Call<FocusedParams>, args: Args| run(focus, call, args));
    Gate::new(focus.gate, version, focus.summary).tool(tool)
}

fn run(focus: &'static FocusedGateSpec, call: &Call<FocusedParams>, args: Args) -> Result<Reply, Fault> {
    // Many models send "" for an omitted argument.
    let non_blank = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    match (non_blank(args.query), non_blank(args.page)) {
        (Some(query), None) if args.offset.is_none_or(|offset| offset.at_most(1) == 0) => {
            let query = PageQuery { query, domains: args.domains, ..PageQuery::default() };
            let (text, results) = search_pages(focus, call, &query, args.top_k)?;
            Reply::markdown(text).structured(&FocusedReply { search: Some(results), page: None })
        }
        (None, Some(id)) => {
            let (text, page) = read_page(focus.view.tool, &id, args.offset.unwrap_or(Offset::new(0)))?;
            let PageData { id, title, content, next_offset, .. } = page;
            let page = Some(PagePiece { id, title, content, next_offset });
            Reply::markdown(text).structured(&FocusedReply { search: None, page })
        }
        (Some(_), Some(_)) => Err(Fault::invalid("query and page cannot be combined")
            .hint("Search with query, then read a result with page.")),
        (Some(_), None) => Err(Fault::invalid("offset requires page, not query")
            .hint("Omit offset, or set page instead of query.")),
        (None, None) => {
            Err(Fault::invalid("query is missing")
                .hint("Set query to search, or page to read a page by its id."))
        }
    }
}

fn search_pages(
    focus: &FocusedGateSpec,
    call: &Call<FocusedParams>,
    query: &PageQuery,
    top_k: Option<Count>,
) -> Result<(String, RankedResults), Fault> {
    let FocusedParams { use_llm_reranker, include_content, content_tokens, .. } = call.params;
    let content = match include_content {
        true => ContentBudget::Whole(content_tokens.at_most(MAX_CONTENT_TOKENS)),
        false => ContentBudget::None,
    };
    let reranker = use_llm_reranker.then(|| Reranker::serving(call.deadline_ms)).flatten();
    let rank = reranker.map(|reranker| move |hits: &mut _, top_k| reranker.order(&query.query, hits, top_k));
    ranked_search(&focus.view, query, top_k.unwrap_or(call.params.top_k), content, rank)
}

#[cfg(test)]
mod tests;

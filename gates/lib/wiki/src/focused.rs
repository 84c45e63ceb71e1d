//! The whole of a gate that searches two types of page: its parameters, its arguments, its one tool.
//! idea and code are this with different words; kg, which searches everything, is not.
//!
//! With `use_llm_reranker` the configured language model orders what the engine found, see `rerank`; so
//! these gates ask for `models` beside `knowledge`. Without the grant, or without a model, the engine's
//! order stands at no cost, and no reply claims otherwise.
//!
//! Given `page` instead of `query` the tool reads one page, whole and of any type: an agent that finds a page has to
//! be able to read it, and its links, also where the preset has no kg.

use gatehouse_sdk::{Call, Count, Fault, Gate, Offset, Reply, Tool, tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    ContentBudget, MAX_TOP_K, PageData, SearchView,
    data::RankedResults,
    read_page,
    search::{PageQuery, search_and_rerank, search_plain},
};

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FocusedParams {
    /// Pages that a search returns unless the call says otherwise; more than 20 count as 20.
    pub top_k: Count,
    /// Let the configured language model order the candidates, where there is one.
    pub use_llm_reranker: bool,
    /// Show the best pages whole and parts of the others.
    pub include_content: bool,
    /// Tokens of content in a reply, all pages together.
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

/// Tokens of content that a reply has at most, whatever a preset says.
const MAX_CONTENT_TOKENS: u32 = 50_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What you look for, in your own words.
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
    /// Character of the page to go on from.
    offset: Option<Offset>,
}

/// What a search found, or the page that was asked for.
#[derive(Serialize, JsonSchema)]
struct FocusedReply {
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    search: Option<RankedResults>,
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<PagePiece>,
}

// Less than `get_wiki_page` tells: agents pay for the schema in each list of tools.
#[derive(Serialize, JsonSchema)]
struct PagePiece {
    id: String,
    title: String,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl From<PageData> for PagePiece {
    fn from(page: PageData) -> Self {
        Self { id: page.id, title: page.title, content: page.content, next_offset: page.next_offset }
    }
}

/// The words that make a focused gate.
pub struct FocusedGateSpec {
    /// Name of the gate.
    pub gate: &'static str,
    /// One sentence about the gate.
    pub summary: &'static str,
    /// The tool's name for people.
    pub title: &'static str,
    /// What the tool finds and when to use it: the first sentences of its description.
    pub when: &'static str,
    /// Where to go next: the last sentence of its description.
    pub next: &'static str,
    /// What the tool is called, and how it shows what it found.
    pub view: SearchView,
}

/// The gate.
pub fn focused_gate(focus: &'static FocusedGateSpec, version: &'static str) -> Gate<FocusedParams> {
    Gate::new(focus.gate, version, focus.summary).tool(focused_tool(focus))
}

fn focused_tool(focus: &'static FocusedGateSpec) -> Tool<FocusedParams> {
    tool::<FocusedParams, Args>(focus.view.tool)
        .title(focus.title)
        .description(move |params| {
            let content = if params.include_content { " content," } else { "" };
            let top_k = params.top_k.at_most(MAX_TOP_K);
            format!(
                "{} Returns up to {top_k} pages, best first, each with overview,{content} score and links; \
                 with page, that page whole. {}",
                focus.when, focus.next
            )
        })
        .default_from("top_k", |params| params.top_k.at_most(MAX_TOP_K).into())
        .idempotent()
        .output::<FocusedReply>()
        .run(move |call: &Call<FocusedParams>, args: Args| run(focus, call, args))
}

fn run(focus: &'static FocusedGateSpec, call: &Call<FocusedParams>, args: Args) -> Result<Reply, Fault> {
    // Many models send "" for what they mean to leave out.
    let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
    match (given(args.query), given(args.page)) {
        (Some(query), None) if args.offset.is_none_or(|offset| offset.at_most(1) == 0) => {
            let ask = PageQuery { query, domains: args.domains, ..PageQuery::default() };
            let top_k = args.top_k.unwrap_or(call.params.top_k);
            let (text, found) = search_pages(focus, call, &ask, top_k)?;
            Reply::markdown(text).structured(&FocusedReply { search: Some(found), page: None })
        }
        (None, Some(id)) => {
            let (text, page) = read_page(focus.view.tool, &id, args.offset.unwrap_or(Offset::new(0)))?;
            Reply::markdown(text).structured(&FocusedReply { search: None, page: Some(page.into()) })
        }
        (Some(_), Some(_)) => Err(Fault::invalid("query and page exclude each other")
            .hint("Search with query, then read what was found with page.")),
        (Some(_), None) => Err(Fault::invalid("offset goes with page, not with query")
            .hint("Leave it out, or name the page to go on with.")),
        (None, None) => Err(Fault::invalid("query is missing")
            .hint("Say what you look for, or give the id of a page in page.")),
    }
}

fn search_pages(
    focus: &FocusedGateSpec,
    call: &Call<FocusedParams>,
    ask: &PageQuery,
    top_k: Count,
) -> Result<(String, RankedResults), Fault> {
    let FocusedParams { use_llm_reranker, include_content, content_tokens, .. } = call.params;
    let content = if include_content {
        ContentBudget::Whole(content_tokens.at_most(MAX_CONTENT_TOKENS))
    } else {
        ContentBudget::None
    };
    if use_llm_reranker {
        search_and_rerank(&focus.view, ask, top_k, content, call.deadline_ms)
    } else {
        search_plain(&focus.view, ask, top_k, content)
    }
}

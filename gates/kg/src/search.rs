//! `search_knowledge` finds pages of any type, and `get_wiki_page` reads one by title or ID. `gatehouse_wiki` formats the
//! replies.

use gatehouse_sdk::{Call, Count, Fault, Offset, Reply, Tool};
use gatehouse_wiki::{ContentBudget, Kind, PageData, PageQuery, RelatedTool, SearchResults, SearchView};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::Params;

const SEARCH: &str = "search_knowledge";

const READ: &str = "get_wiki_page";

/// Upper limit for `preview_tokens` in presets.
const MAX_PREVIEW_TOKENS: u32 = 2_000;

static VIEW: SearchView = SearchView {
    tool: SEARCH,
    heading: "Search Results for",
    subject: "pages",
    page_types: &[],
    related: &[
        RelatedTool { tool: "research_idea", what: "searches the web for ideas" },
        RelatedTool { tool: "research_implementation", what: "searches the web for code" },
    ],
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
    /// Your query, in your own words.
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    /// Pages to return, at most 20.
    #[serde(default = "default_top_k")]
    top_k: Count,
    /// Only pages of these types.
    #[serde(default)]
    #[schemars(length(max = 20))]
    page_types: Vec<Kind>,
    /// Only pages with one of these domains, e.g. Deep_Learning.
    #[serde(default)]
    #[schemars(length(max = 50))]
    domains: Vec<String>,
    /// Minimum score of a page.
    #[schemars(range(min = 0, max = 1))]
    min_score: Option<f64>,
}

fn default_top_k() -> Count {
    Count::new(5)
}

pub(crate) fn search() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, SearchArgs>(SEARCH)
        .title("Search the knowledge graph")
        .description(|params| {
            let preview = if params.include_content { " content preview," } else { "" };
            format!(
                "Search the wiki: workflows, principles, implementations, environments, heuristics. Use it first, \
                before designing or coding. Returns pages, best first, each with overview,{preview} score and linked \
                pages. Next: get_wiki_page reads a full page."
            )
        })
        .idempotent()
        .output::<SearchResults>()
        .run(run_search)
}

fn run_search(call: &Call<Params>, args: SearchArgs) -> Result<Reply, Fault> {
    let SearchArgs { query, top_k, page_types, domains, min_score } = args;
    let query = PageQuery { query, page_types, domains, min_score };
    let Params { include_content, preview_tokens } = call.params;
    let preview = preview_tokens.at_most(MAX_PREVIEW_TOKENS);
    let content = if include_content { ContentBudget::Previews(preview) } else { ContentBudget::None };
    gatehouse_wiki::search(&VIEW, &query, top_k, content)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadPageArgs {
    /// Title, or id such as Principle/LoRA_Configuration.
    #[schemars(length(min = 1, max = 1000))]
    page_title: String,
    /// Character to continue a long page from.
    offset: Option<Offset>,
}

pub(crate) fn read() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, ReadPageArgs>(READ)
        .title("Read a wiki page")
        .description(|_| {
            "Read one full wiki page, found by search_knowledge or a link; a long one in pieces of 8,000 tokens. \
            Returns overview, content, sources and links in both directions; if the page is missing, the nearest \
            titles. Next: read the linked pages."
        })
        .idempotent()
        .output::<PageData>()
        .run(|_: &Call<Params>, args: ReadPageArgs| -> Result<Reply, Fault> {
            let offset = args.offset.unwrap_or(Offset::new(0));
            let (text, page) = gatehouse_wiki::read_page(READ, &args.page_title, offset)?;
            Reply::markdown(text).structured(&page)
        })
}

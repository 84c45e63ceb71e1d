//! Finds code knowledge in the knowledge graph: implementations (what to call, and how) and
//! environments (what it needs to run).
//!
//! One tool, `wiki_code_search`. Its reply is that of `search_knowledge` under its own heading, with the best pages
//! whole, code first; given an id it reads that page. It runs no code, does not look at ideas (`wiki_idea_search`
//! does) and does not search the web (`research_implementation` does); where it finds nothing it names those of
//! them that the caller has.
//!
//! With the parameter `use_llm_reranker` (true unless a preset says otherwise) the host's language model
//! orders the pages that the engine found, where one is configured and the gate is granted `models`; the
//! reply then names the model. In every other case, and whenever the model fails or takes longer than
//! eight seconds, the engine's order stands. Filters narrow what the engine finds, before any order.

use gatehouse_sdk::{Gate, knowledge::PageType};
use gatehouse_wiki::{FocusedGateSpec, FocusedParams, RelatedTool, SearchView, focused_gate};

static FOCUS: FocusedGateSpec = FocusedGateSpec {
    gate: "code",
    summary: "Finds implementations and environments in the knowledge graph.",
    title: "Search code knowledge",
    when: "Search the wiki for code: implementations (APIs, signatures, examples) and environments (what \
           code needs to run). Use it before writing code.",
    next: "For the ideas behind it, try wiki_idea_search where you have it.",
    view: SearchView {
        tool: "wiki_code_search",
        heading: "Code Search",
        subject: "implementation knowledge",
        page_types: &[PageType::Implementation, PageType::Environment],
        related: &[
            RelatedTool { tool: "search_knowledge", what: "searches pages of every type" },
            RelatedTool { tool: "wiki_idea_search", what: "knows principles and heuristics" },
            RelatedTool { tool: "research_implementation", what: "searches the web for code" },
        ],
    },
};

/// The gate.
pub fn gate() -> Gate<FocusedParams> {
    focused_gate(&FOCUS, env!("CARGO_PKG_VERSION"))
}

gatehouse_sdk::export!(gate);

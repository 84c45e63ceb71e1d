//! Finds code knowledge in the knowledge graph: implementations (APIs to call, and how) and environments (requirements
//! to run them).
//!
//! The only tool, `wiki_code_search`, replies like `search_knowledge` under its own heading, with full pages and code
//! first. Given an ID, it reads that page. If it finds nothing, it names related tools that the caller has.
//!
//! With `use_llm_reranker` (default true), a configured language model reorders the engine's results if the gate has
//! the `models` grant, and the reply names the model. If the model fails or takes longer than eight seconds, the
//! engine's order applies. Filters run before ordering.

use gatehouse_sdk::{Gate, knowledge::PageType};
use gatehouse_wiki::{FocusedGateSpec, FocusedParams, RelatedTool, SearchView, focused_gate};

static FOCUS: FocusedGateSpec = FocusedGateSpec {
    gate: "code",
    summary: "Finds implementations and environments in the knowledge graph.",
    title: "Search code knowledge",
    when: "Search the wiki for code: implementations (APIs, signatures, examples) and environments (what \
           code needs to run). Use it before writing code.",
    next: "For the ideas behind it, try wiki_idea_search if you have it.",
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

pub fn gate() -> Gate<FocusedParams> {
    focused_gate(&FOCUS, env!("CARGO_PKG_VERSION"))
}

gatehouse_sdk::export!(gate);

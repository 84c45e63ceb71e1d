//! Finds ideas in the knowledge graph: principles (why something works, whatever the code) and
//! heuristics (rules of thumb).
//!
//! One tool, `wiki_idea_search`. Its reply is that of `search_knowledge` under its own heading, with the best pages
//! whole; given an id it reads that page. It does not look at code (`wiki_code_search` does) and does not search
//! the web (`research_idea` does); where it finds nothing it names those of them that the caller has.
//!
//! With the parameter `use_llm_reranker` (true unless a preset says otherwise) the host's language model
//! orders the pages that the engine found, where one is configured and the gate is granted `models`; the
//! reply then names the model. In every other case, and whenever the model fails or takes longer than
//! eight seconds, the engine's order stands. Filters narrow what the engine finds, before any order.

use gatehouse_sdk::{Gate, knowledge::PageType};
use gatehouse_wiki::{FocusedGateSpec, FocusedParams, RelatedTool, SearchView, focused_gate};

static FOCUS: FocusedGateSpec = FocusedGateSpec {
    gate: "idea",
    summary: "Finds principles and heuristics in the knowledge graph.",
    title: "Search ideas",
    when: "Search the wiki for ideas: principles (how and why something works) and heuristics (rules of \
           thumb). Use it before choosing an approach.",
    next: "For code, try wiki_code_search where you have it.",
    view: SearchView {
        tool: "wiki_idea_search",
        heading: "Idea Search",
        subject: "conceptual knowledge",
        page_types: &[PageType::Principle, PageType::Heuristic],
        related: &[
            RelatedTool { tool: "search_knowledge", what: "searches pages of every type" },
            RelatedTool { tool: "wiki_code_search", what: "knows code and environments" },
            RelatedTool { tool: "research_idea", what: "searches the web for ideas" },
        ],
    },
};

/// The gate.
pub fn gate() -> Gate<FocusedParams> {
    focused_gate(&FOCUS, env!("CARGO_PKG_VERSION"))
}

gatehouse_sdk::export!(gate);

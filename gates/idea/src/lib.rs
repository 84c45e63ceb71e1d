//! Finds ideas in the knowledge graph: principles (why something works, independent of code) and heuristics (rules of
//! thumb).
//!
//! The only tool, `wiki_idea_search`, replies like `search_knowledge` under its own heading, with full pages. Given an
//! ID, it reads that page. If it finds nothing, it names related tools that the caller has. It reranks like
//! `wiki_code_search`, which documents `use_llm_reranker`.

use gatehouse_sdk::{Gate, knowledge::PageType};
use gatehouse_wiki::{FocusedGateSpec, FocusedParams, RelatedTool, SearchView, focused_gate};

static FOCUS: FocusedGateSpec = FocusedGateSpec {
    gate: "idea",
    summary: "Finds principles and heuristics in the knowledge graph.",
    title: "Search ideas",
    when: "Search the wiki for ideas: principles (how and why something works) and heuristics (rules of \
           thumb). Use it before choosing an approach.",
    next: "For code, try wiki_code_search if you have it.",
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

pub fn gate() -> Gate<FocusedParams> {
    focused_gate(&FOCUS, env!("CARGO_PKG_VERSION"))
}

gatehouse_sdk::export!(gate);

//! `research_idea`: finds ideas on the web.

use gatehouse_sdk::{Reply, Tool};
use gatehouse_wiki::RelatedTool;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Params,
    items::ResearchItem,
    list::{ListTool, ResearchFindings, prose},
    run::ResearchRun,
    sections::{SectionSpec, SectionTable},
};

static TOOL: ListTool = ListTool {
    name: "research_idea",
    title: "Research ideas",
    description: "Search the web for ideas: approaches and principles for a problem. Use it if the wiki lacks them, or \
    newer ones matter. Returns up to {top_k} ideas, each with its source URL, how to apply it, when, trade-offs, \
    examples and prerequisites. Can take minutes and costs money. Next, if available: research_implementation for \
    code.",
    heading: "Research Ideas",
    noun: "ideas",
    what: "different ideas (approaches, methods, principles, each from its own page) that help with what",
    related: &[
        RelatedTool { tool: "wiki_idea_search", what: "knows principles and heuristics of the wiki" },
        RelatedTool { tool: "search_knowledge", what: "searches pages of every type in the wiki" },
        RelatedTool { tool: "research_study", what: "studies one question on the web" },
        RelatedTool { tool: "research_implementation", what: "searches the web for code" },
    ],
};

pub(crate) struct IdeaSections;

impl SectionTable for IdeaSections {
    const ALL: &'static [SectionSpec] = &[
        prose("description", "Description", "the idea, and why it works"),
        prose("how_to_apply", "How to Apply", "the steps to apply it"),
        prose("when_to_use", "When to Use", "when it fits, and when it does not"),
        prose("trade_offs", "Trade-offs", "its costs, and what is given up"),
        prose("examples", "Examples", "known uses, and their results"),
        prose("prerequisites", "Prerequisites", "requirements"),
    ];
}

/// The ideas found.
#[derive(Serialize, JsonSchema)]
struct IdeaList {
    /// The query.
    query: String,
    /// Number of ideas.
    found: usize,
    ideas: Vec<ResearchItem<IdeaSections>>,
    #[serde(flatten)]
    run: ResearchRun,
}

pub(crate) fn tool() -> Tool<Params> {
    TOOL.declare().output::<IdeaList>().run(|call, args| {
        let ResearchFindings { text, query, items, run } = TOOL.research(call, args)?;
        Reply::markdown(text).structured(&IdeaList { query, found: items.len(), ideas: items, run })
    })
}

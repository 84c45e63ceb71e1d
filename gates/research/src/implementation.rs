//! `research_implementation`: finds code on the web.

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
    name: "research_implementation",
    title: "Research implementations",
    description: "Search the web for code: libraries and examples that do something. Use it if the wiki lacks them, or \
    newer ones matter. Returns up to {top_k} implementations, each with its source URL, snippet, dependencies, \
    configuration, pitfalls and performance. Can take minutes and costs money. Next, if available: research_idea for \
    other approaches.",
    heading: "Research Implementations",
    noun: "implementations",
    what: "implementations (code, libraries, official examples, each from its own page) of what",
    related: &[
        RelatedTool { tool: "wiki_code_search", what: "knows code and environments of the wiki" },
        RelatedTool { tool: "search_knowledge", what: "searches pages of every type in the wiki" },
        RelatedTool { tool: "research_idea", what: "searches the web for ideas" },
        RelatedTool { tool: "research_study", what: "studies one question on the web" },
    ],
};

pub(crate) struct ImplementationSections;

impl SectionTable for ImplementationSections {
    const ALL: &'static [SectionSpec] = &[
        prose("description", "Description", "the purpose of the code, and how it works"),
        SectionSpec {
            key: "code_snippet",
            heading: "Code Snippet",
            about: "code to start from, complete enough to run, with its imports; the code alone",
            max: 6_000,
            code: true,
        },
        prose("dependencies", "Dependencies", "packages with their versions, and how to install them"),
        prose("configuration", "Configuration", "settings that matter, with values"),
        prose("pitfalls", "Pitfalls", "common problems, and how to notice them"),
        prose("performance", "Performance", "measured figures, with the hardware and setup"),
    ];
}

/// The implementations found.
#[derive(Serialize, JsonSchema)]
struct ImplementationList {
    /// The query.
    query: String,
    /// Number of implementations.
    found: usize,
    implementations: Vec<ResearchItem<ImplementationSections>>,
    #[serde(flatten)]
    run: ResearchRun,
}

pub(crate) fn tool() -> Tool<Params> {
    TOOL.declare().output::<ImplementationList>().run(|call, args| {
        let ResearchFindings { text, query, items, run } = TOOL.research(call, args)?;
        Reply::markdown(text).structured(&ImplementationList {
            query,
            found: items.len(),
            implementations: items,
            run,
        })
    })
}

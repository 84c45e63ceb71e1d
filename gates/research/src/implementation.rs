//! `research_implementation`: code from the web.

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
    description: "Search the web for code: libraries and examples that do something. Use it when the wiki \
                  has none, or newer ones matter. Returns up to {top_k} implementations, each with its \
                  source URL, snippet, dependencies, configuration, pitfalls and performance. Takes up to \
                  minutes and costs money. Next, where you have it: research_idea for other approaches.",
    heading: "Research Implementations",
    noun: "implementations",
    what: "implementations (code, libraries, official examples, each from a page of its own) of what",
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
        prose("description", "Description", "what the code does, and how"),
        SectionSpec {
            key: "code_snippet",
            heading: "Code Snippet",
            about: "code to start from, complete enough to run, with its imports; the code alone",
            max: 6_000,
            code: true,
        },
        prose("dependencies", "Dependencies", "packages with their versions, and how to install them"),
        prose("configuration", "Configuration", "settings that matter, with values"),
        prose("pitfalls", "Pitfalls", "what goes wrong, and how to notice it"),
        prose("performance", "Performance", "measured figures, with what they were measured on"),
    ];
}

/// What was found.
#[derive(Serialize, JsonSchema)]
struct ImplementationList {
    /// The query as it was asked.
    query: String,
    /// How many implementations there are.
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

//! `research_implementation`: code from the web.

use gatehouse_sdk::{Call, Fault, Intent, Reply, Tool};
use gatehouse_wiki::RelatedTool;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Params,
    args::{Asked, ListArgs, TOP_K_MAX},
    items::{Item, Section, section},
    render,
    run::{self, Kind, Run},
    sources::Evidence,
};

pub(crate) static KIND: Kind = Kind {
    tool: "research_implementation",
    heading: "Research Implementations",
    noun: "implementations",
    what: "implementations (code, libraries, official examples, each from a page of its own) of what",
    sections: &[
        section("description", "Description", "what the code does, and how"),
        Section {
            key: "code_snippet",
            heading: "Code Snippet",
            about: "code to start from, complete enough to run, with its imports; the code alone",
            max: 6_000,
            code: true,
        },
        section("dependencies", "Dependencies", "packages with their versions, and how to install them"),
        section("configuration", "Configuration", "settings that matter, with values"),
        section("pitfalls", "Pitfalls", "what goes wrong, and how to notice it"),
        section("performance", "Performance", "measured figures, with what they were measured on"),
    ],
    related: &[
        RelatedTool { tool: "wiki_code_search", what: "knows code and environments of the wiki" },
        RelatedTool { tool: "search_knowledge", what: "searches pages of every type in the wiki" },
        RelatedTool { tool: "research_idea", what: "searches the web for ideas" },
        RelatedTool { tool: "research_study", what: "studies one question on the web" },
    ],
};

/// What was found. Texts are Markdown; one that is missing was not given.
#[derive(Serialize, JsonSchema)]
struct Implementations {
    /// The query as it was asked.
    query: String,
    /// How many implementations there are.
    found: usize,
    implementations: Vec<Implementation>,
    #[serde(flatten)]
    run: Run,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Implementation {
    title: String,
    /// The page it is from.
    url: String,
    /// Whether the provider says that the model read that page, the site only, or none of it.
    evidence: Evidence,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_snippet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependencies: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    configuration: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pitfalls: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    performance: Option<String>,
}

impl From<Item> for Implementation {
    fn from(Item { title, url, evidence, mut texts }: Item) -> Self {
        Self {
            title,
            url,
            evidence,
            description: texts.remove("description"),
            code_snippet: texts.remove("code_snippet"),
            dependencies: texts.remove("dependencies"),
            configuration: texts.remove("configuration"),
            pitfalls: texts.remove("pitfalls"),
            performance: texts.remove("performance"),
        }
    }
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, ListArgs>(KIND.tool)
        .title("Research implementations")
        .description(|params| {
            format!(
                "Search the web for code: libraries and examples that do something. Use it when the wiki has \
                 none, or newer ones matter. Returns up to {} implementations, each with its source URL, \
                 snippet, dependencies, configuration, pitfalls and performance. Takes up to minutes and \
                 costs money. Next, where you have it: research_idea for other approaches.",
                params.default_top_k.at_most(TOP_K_MAX)
            )
        })
        .default_from("top_k", |params| params.default_top_k.at_most(TOP_K_MAX).into())
        .default_from("depth", |params| params.default_depth.name().into())
        .intent(Intent::Analyze)
        .open_world()
        .output::<Implementations>()
        .run(answer)
}

fn answer(call: &Call<Params>, args: ListArgs) -> Result<Reply, Fault> {
    let asked = Asked::list(call, args);
    let (items, run) = run::list(&KIND, &asked)?;
    let text = render::list(&KIND, &asked, &items, &run);
    let implementations = items.into_iter().map(Implementation::from).collect::<Vec<_>>();
    let found = implementations.len();
    Reply::markdown(text).structured(&Implementations { found, query: asked.query, implementations, run })
}

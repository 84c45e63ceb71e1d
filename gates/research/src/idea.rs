//! `research_idea`: ideas from the web.

use gatehouse_sdk::{Call, Fault, Intent, Reply, Tool};
use gatehouse_wiki::RelatedTool;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Params,
    args::{Asked, ListArgs, TOP_K_MAX},
    items::{Item, section},
    render,
    run::{self, Kind, Run},
    sources::Evidence,
};

pub(crate) static KIND: Kind = Kind {
    tool: "research_idea",
    heading: "Research Ideas",
    noun: "ideas",
    what: "different ideas (approaches, methods, principles, each from a page of its own) that help with what",
    sections: &[
        section("description", "Description", "what the idea is, and why it works"),
        section("how_to_apply", "How to Apply", "the steps to apply it"),
        section("when_to_use", "When to Use", "where it fits, and where it does not"),
        section("trade_offs", "Trade-offs", "what it costs, and what is given up"),
        section("examples", "Examples", "who did it, and what came of it"),
        section("prerequisites", "Prerequisites", "what must be there first"),
    ],
    related: &[
        RelatedTool { tool: "wiki_idea_search", what: "knows principles and heuristics of the wiki" },
        RelatedTool { tool: "search_knowledge", what: "searches pages of every type in the wiki" },
        RelatedTool { tool: "research_study", what: "studies one question on the web" },
        RelatedTool { tool: "research_implementation", what: "searches the web for code" },
    ],
};

/// What was found. Texts are Markdown; one that is missing was not given.
#[derive(Serialize, JsonSchema)]
struct Ideas {
    /// The query as it was asked.
    query: String,
    /// How many ideas there are.
    found: usize,
    ideas: Vec<Idea>,
    #[serde(flatten)]
    run: Run,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Idea {
    title: String,
    /// The page it is from.
    url: String,
    /// Whether the provider says that the model read that page, the site only, or none of it.
    evidence: Evidence,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how_to_apply: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    when_to_use: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trade_offs: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    examples: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prerequisites: Option<String>,
}

impl From<Item> for Idea {
    fn from(Item { title, url, evidence, mut texts }: Item) -> Self {
        Self {
            title,
            url,
            evidence,
            description: texts.remove("description"),
            how_to_apply: texts.remove("how_to_apply"),
            when_to_use: texts.remove("when_to_use"),
            trade_offs: texts.remove("trade_offs"),
            examples: texts.remove("examples"),
            prerequisites: texts.remove("prerequisites"),
        }
    }
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, ListArgs>(KIND.tool)
        .title("Research ideas")
        .description(|params| {
            format!(
                "Search the web for ideas: approaches and principles for a problem. Use it when the wiki has \
                 none, or newer ones matter. Returns up to {} ideas, each with its source URL, how to apply \
                 it, when, trade-offs, examples and prerequisites. Takes up to minutes and costs money. Next, \
                 where you have it: research_implementation for code.",
                params.default_top_k.at_most(TOP_K_MAX)
            )
        })
        .default_from("top_k", |params| params.default_top_k.at_most(TOP_K_MAX).into())
        .default_from("depth", |params| params.default_depth.name().into())
        .intent(Intent::Analyze)
        .open_world()
        .output::<Ideas>()
        .run(answer)
}

fn answer(call: &Call<Params>, args: ListArgs) -> Result<Reply, Fault> {
    let asked = Asked::list(call, args);
    let (items, run) = run::list(&KIND, &asked)?;
    let text = render::list(&KIND, &asked, &items, &run);
    let ideas = items.into_iter().map(Idea::from).collect::<Vec<_>>();
    Reply::markdown(text).structured(&Ideas { found: ideas.len(), query: asked.query, ideas, run })
}

//! The tools that return a list: `research_idea` finds ideas on the web, and `research_implementation` finds code.

use gatehouse_sdk::{Call, Count, Fault, Intent, Reply, Tool, ToolBuilder};
use gatehouse_wiki::RelatedTool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    Depth, Params,
    ask::{self, ResearchRequest},
    items::{self, ResearchItem},
    parse, render,
    run::{self, ResearchRun},
    sections::{SectionSpec, SectionTable},
};

const MAX_TOP_K: u32 = 20;

/// Arguments of the tools that return a list.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FindingListArgs {
    /// Your question, in your own words, with its purpose.
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    /// Items to return, at most 20.
    top_k: Option<Count>,
    /// light: a few pages, seconds. deep: many pages, minutes.
    depth: Option<Depth>,
}

pub(crate) struct ListTool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Shown to agents. `{top_k}` is replaced by the default number of items.
    pub(crate) description: &'static str,
    /// Heading, used as `# <heading>: "<query>"`.
    pub(crate) heading: &'static str,
    pub(crate) noun: &'static str,
    /// Items to find, for the model; follows "Find up to 5".
    pub(crate) task: &'static str,
    pub(crate) related: &'static [RelatedTool],
}

const fn prose(key: &'static str, heading: &'static str, hint: &'static str) -> SectionSpec {
    SectionSpec { key, heading, hint, max: 4_000, code: false }
}

impl ListTool {
    fn declare(&self) -> ToolBuilder<Params, FindingListArgs> {
        let description = self.description;
        gatehouse_sdk::tool::<Params, FindingListArgs>(self.name)
            .title(self.title)
            .description(move |params| {
                description.replace("{top_k}", &params.default_top_k.at_most(MAX_TOP_K).to_string())
            })
            .default_from("top_k", |params| params.default_top_k.at_most(MAX_TOP_K).into())
            .default_from("depth", |params| json!(params.default_depth))
            .intent(Intent::Analyze)
            .open_world()
    }

    /// Runs the research. `data` builds the data of the reply.
    fn research<S: SectionTable, T: Serialize>(
        &self,
        call: &Call<Params>,
        args: FindingListArgs,
        data: impl FnOnce(String, Vec<ResearchItem<S>>, ResearchRun) -> T,
    ) -> Result<Reply, Fault> {
        let top_k = args.top_k.unwrap_or(call.params.default_top_k).at_most(MAX_TOP_K) as usize;
        let request = ResearchRequest::new(call, args.query, args.depth);
        let mut item = Map::new();
        item.insert("title".into(), json!("its name, in a few words"));
        item.insert("url".into(), json!("the page it is from"));
        item.extend(S::form());
        let task = format!("Find up to {top_k} {} this JSON string asks for:", self.task);
        let answer = ask::ask(&request, &task, &json!({"items": [Value::Object(item)]}))?;
        let read = parse::list(&answer, "items").ok_or_else(|| run::unreadable(&answer))?;
        let cut = run::cut_reason(&answer, read.whole);
        let (items, left_out) = items::collect_items(&read.value, &answer.sources, top_k);
        if items.is_empty() && cut.is_some() {
            return Err(run::unreadable(&answer));
        }
        let run = ResearchRun::new(self.name, &request, &answer, cut, items.len(), left_out);
        let text = render::list(self, &request, &items, &run);
        Reply::markdown(text).structured(&data(request.query, items, run))
    }
}

static IDEA: ListTool = ListTool {
    name: "research_idea",
    title: "Research ideas",
    description: "Search the web for ideas: approaches and principles for a problem. Use it if the wiki lacks them, or \
    newer ones matter. Returns up to {top_k} ideas, each with its source URL, how to apply it, when, trade-offs, \
    examples and prerequisites. Can take minutes and costs money. Next, if available: research_implementation for \
    code.",
    heading: "Research Ideas",
    noun: "ideas",
    task: "different ideas (approaches, methods, principles, each from its own page) that help with what",
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

pub(crate) fn idea() -> Tool<Params> {
    IDEA.declare().output::<IdeaList>().run(|call, args| {
        IDEA.research(call, args, |query, ideas, run| IdeaList { query, found: ideas.len(), ideas, run })
    })
}

static IMPLEMENTATION: ListTool = ListTool {
    name: "research_implementation",
    title: "Research implementations",
    description: "Search the web for code: libraries and examples that do something. Use it if the wiki lacks them, or \
    newer ones matter. Returns up to {top_k} implementations, each with its source URL, snippet, dependencies, \
    configuration, pitfalls and performance. Can take minutes and costs money. Next, if available: research_idea for \
    other approaches.",
    heading: "Research Implementations",
    noun: "implementations",
    task: "implementations (code, libraries, official examples, each from its own page) of what",
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
            hint: "code to start from, complete enough to run, with its imports; the code alone",
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

pub(crate) fn implementation() -> Tool<Params> {
    IMPLEMENTATION.declare().output::<ImplementationList>().run(|call, args| {
        IMPLEMENTATION.research(call, args, |query, implementations, run| ImplementationList {
            query,
            found: implementations.len(),
            implementations,
            run,
        })
    })
}

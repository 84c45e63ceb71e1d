//! `research_study`: studies one question on the web.

use gatehouse_sdk::{
    Call, Fault, Intent, Reply, Tool,
    models::{Completion, WebSource},
};
use gatehouse_wiki::RelatedTool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Depth, Params,
    ask::{self, ResearchRequest},
    items, parse, render,
    run::{self, ResearchRun},
    sections::{SectionSpec, SectionTable, SectionTexts},
    sources::{self, Evidence},
};

pub(crate) const TOOL: &str = "research_study";

const MAX_REFERENCES: usize = 30;

const fn prose(key: &'static str, heading: &'static str, hint: &'static str) -> SectionSpec {
    SectionSpec { key, heading, hint, max: 8_000, code: false }
}

/// Arguments of the study.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StudyArgs {
    /// The question to study, in your own words.
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    /// light: a few pages, seconds. deep: many pages, minutes.
    depth: Option<Depth>,
}

pub(crate) struct StudySections;

impl SectionTable for StudySections {
    const ALL: &'static [SectionSpec] = &[
        prose("key_takeaways", "Key Takeaways", "a list of the few sentences to remember"),
        prose("abstract", "Abstract", "the question and the answer, in one paragraph"),
        prose("background", "Background", "necessary background knowledge"),
        prose("comparison", "Comparison", "the approaches side by side, as a table if that helps"),
        prose("implementation_guide", "Implementation Guide", "how to do it, step by step, with code"),
        prose("evaluation", "Evaluation", "how to verify that it works: measures, benchmarks, known figures"),
        prose("limitations", "Limitations", "unknowns, exceptions and disputes"),
    ];
}

pub(crate) static RELATED: [RelatedTool; 4] = [
    RelatedTool { tool: "research_idea", what: "searches the web for ideas" },
    RelatedTool { tool: "research_implementation", what: "searches the web for code" },
    RelatedTool { tool: "search_knowledge", what: "searches the wiki" },
    RelatedTool { tool: "wiki_idea_search", what: "knows principles and heuristics of the wiki" },
];

/// The study. Texts are Markdown; missing ones were not written.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Study {
    /// The query.
    query: String,
    #[serde(flatten)]
    texts: SectionTexts<StudySections>,
    /// Pages the study names, then other pages the model read.
    references: Vec<StudyReference>,
    #[serde(flatten)]
    run: ResearchRun,
}

/// A page.
#[derive(Serialize, JsonSchema)]
pub(crate) struct StudyReference {
    pub(crate) title: String,
    pub(crate) url: String,
    /// Pages the model read, by the provider's account: this page, only its site, or none of it.
    pub(crate) evidence: Evidence,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, StudyArgs>(TOOL)
        .title("Study a question")
        .description(|_| {
            "Study one question on the web. Use it before a decision that needs more than a list. Returns key \
            takeaways, abstract, background, comparison, implementation guide, evaluation, limitations and \
            references with URLs. Can take minutes and costs money. Next, if available: research_idea or \
            research_implementation for parts of it."
        })
        .default_from("depth", |params| json!(params.default_depth))
        .intent(Intent::Analyze)
        .open_world()
        .output::<Study>()
        .run(answer)
}

fn answer(call: &Call<Params>, args: StudyArgs) -> Result<Reply, Fault> {
    let request = ResearchRequest::new(call, args.query, args.depth);
    let reference = json!({"title": "the title of the page", "url": "its address"});
    let form = json!({"study": StudySections::form(), "references": [reference]});
    let answer = ask::ask(&request, "Study the question that this JSON string asks:", &form)?;
    let read = parse::object(&answer, "study").ok_or_else(|| run::unreadable(&answer))?;
    let texts = SectionTexts::read(&read.value);
    let listed = parse::list(&answer, "references");
    let whole = read.whole && listed.as_ref().is_none_or(|list| list.whole);
    let cut = run::cut_reason(&answer, whole);
    if texts.by_key.is_empty() && cut.is_some() {
        return Err(run::unreadable(&answer));
    }
    let (references, left_out) = references(listed.map(|list| list.value).unwrap_or_default(), &answer);
    let run = ResearchRun::new(TOOL, &request, &answer, cut, texts.by_key.len(), left_out);
    let text = render::study(&request, &texts, &references, &run);
    Reply::markdown(text).structured(&Study { query: request.query, texts, references, run })
}

/// Collects the named pages without duplicates, then other pages that were read. Also returns the number of references
/// without a page.
fn references(listed: Vec<Value>, answer: &Completion) -> (Vec<StudyReference>, usize) {
    let named = listed.iter().map(|value| {
        let map = value.as_object()?;
        let url = items::address(map)?;
        Some(reference(items::title(map), url, &answer.sources))
    });
    let named: Vec<Option<StudyReference>> = named.collect();
    let left_out = named.iter().filter(|reference| reference.is_none()).count();
    let read = answer.sources.iter().filter_map(|source| {
        let url = sources::address(&source.url)?;
        Some(reference(items::line(source.title.as_deref().unwrap_or_default()), url, &answer.sources))
    });
    let mut references: Vec<StudyReference> = Vec::new();
    for reference in named.into_iter().flatten().chain(read) {
        let page = sources::key(&reference.url);
        let is_duplicate = references.iter().any(|existing| sources::key(&existing.url) == page);
        if !is_duplicate && references.len() < MAX_REFERENCES {
            references.push(reference);
        }
    }
    (references, left_out)
}

fn reference(title: String, url: String, read: &[WebSource]) -> StudyReference {
    let title = if title.is_empty() { sources::site(&url) } else { title };
    StudyReference { title, evidence: sources::evidence(&url, read), url }
}

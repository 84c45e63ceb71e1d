//! Shared code of the tools that return a list, `research_idea` and `research_implementation`.

use gatehouse_sdk::{Call, Fault, Intent, ToolBuilder};
use gatehouse_wiki::RelatedTool;
use serde_json::{Map, Value, json};

use crate::{
    Params,
    args::{ListArgs, MAX_TOP_K, ResearchRequest},
    ask,
    items::{self, ResearchItem},
    parse, render,
    run::{self, ResearchRun},
    sections::{SectionSpec, SectionTable},
};

pub(crate) struct ListTool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Shown to agents. `{top_k}` is replaced by the default number of items.
    pub(crate) description: &'static str,
    /// Heading, used as `# <heading>: "<query>"`.
    pub(crate) heading: &'static str,
    pub(crate) noun: &'static str,
    /// Items to find, for the model; follows "Find up to 5".
    pub(crate) what: &'static str,
    pub(crate) related: &'static [RelatedTool],
}

pub(crate) const fn prose(key: &'static str, heading: &'static str, about: &'static str) -> SectionSpec {
    SectionSpec { key, heading, about, max: 4_000, code: false }
}

pub(crate) struct ResearchFindings<S> {
    pub(crate) text: String,
    pub(crate) query: String,
    pub(crate) items: Vec<ResearchItem<S>>,
    pub(crate) run: ResearchRun,
}

impl ListTool {
    pub(crate) fn declare(&self) -> ToolBuilder<Params, ListArgs> {
        let description = self.description;
        gatehouse_sdk::tool::<Params, ListArgs>(self.name)
            .title(self.title)
            .description(move |params| {
                description.replace("{top_k}", &params.default_top_k.at_most(MAX_TOP_K).to_string())
            })
            .default_from("top_k", |params| params.default_top_k.at_most(MAX_TOP_K).into())
            .default_from("depth", |params| json!(params.default_depth))
            .intent(Intent::Analyze)
            .open_world()
    }

    pub(crate) fn research<S: SectionTable>(
        &self,
        call: &Call<Params>,
        args: ListArgs,
    ) -> Result<ResearchFindings<S>, Fault> {
        let top_k = args.top_k.unwrap_or(call.params.default_top_k).at_most(MAX_TOP_K) as usize;
        let request = ResearchRequest::new(call, args.query, args.depth);
        let mut item = Map::new();
        item.insert("title".into(), json!("its name, in a few words"));
        item.insert("url".into(), json!("the page it is from"));
        item.extend(S::form());
        let what = format!("Find up to {top_k} {} this JSON string asks for:", self.what);
        let answer = ask::ask(&request, &what, &json!({"items": [Value::Object(item)]}))?;
        let read = parse::list(&answer, "items").ok_or_else(|| run::unreadable(&answer))?;
        let cut = run::cut_reason(&answer, read.whole);
        let (items, left_out) = items::collect_items(&read.value, &answer.sources, top_k);
        if items.is_empty() && cut.is_some() {
            return Err(run::unreadable(&answer));
        }
        let run = ResearchRun::new(self.name, &request, &answer, cut, items.len(), left_out);
        let text = render::list(self, &request, &items, &run);
        Ok(ResearchFindings { text, query: request.query, items, run })
    }
}

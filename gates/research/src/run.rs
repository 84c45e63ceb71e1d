//! One research, from the question to what was kept of the answer, and the account of it.

use gatehouse_sdk::{
    Fault, FaultKind,
    context::{self, Level},
    models::Completion,
};
use gatehouse_wiki::{RelatedTool, one_line};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    Depth,
    args::Asked,
    ask,
    items::{self, Item, Section},
    parse,
};

/// What makes one of the tools that return a list differ from the other.
pub(crate) struct Kind {
    /// Its name.
    pub(crate) tool: &'static str,
    /// The heading: `# <heading>: "<query>"`.
    pub(crate) heading: &'static str,
    /// What it finds, in the plural.
    pub(crate) noun: &'static str,
    /// What to find, for the model; follows "Find up to 5".
    pub(crate) what: &'static str,
    pub(crate) sections: &'static [Section],
    /// Who else may know, in the order to try.
    pub(crate) related: &'static [RelatedTool],
}

/// How an answer came about.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Run {
    /// How hard the model tried.
    pub(crate) depth: Depth,
    /// What the model answered and was left out, because it names no page.
    pub(crate) left_out: usize,
    /// Pages that the provider says the model read; 0 where it names none.
    pub(crate) pages_read: usize,
    /// Why the answer ends too early; what is here is whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cut_short: Option<String>,
    /// provider/model that answered.
    pub(crate) model: String,
    /// What it cost, where the provider says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tokens: Option<Tokens>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Tokens {
    input: u64,
    output: u64,
}

impl Run {
    /// The account, which also goes to the log: figures, never what was asked or answered.
    pub(crate) fn new(
        tool: &str,
        asked: &Asked,
        answer: &Completion,
        cut_short: Option<String>,
        kept: usize,
        left_out: usize,
    ) -> Self {
        let run = Self {
            depth: asked.depth,
            left_out,
            pages_read: answer.sources.len(),
            cut_short,
            model: one_line(&answer.model, 100),
            tokens: answer.tokens.map(|tokens| Tokens { input: tokens.input, output: tokens.output }),
        };
        let fields = json!({
            "tool": tool, "depth": asked.depth, "kept": kept, "left_out": left_out, "pages_read": run.pages_read,
            "cut_short": run.cut_short.is_some(), "model": run.model, "tokens": run.tokens,
        });
        context::log(Level::Info, "research", &fields.to_string());
        run
    }
}

/// Asks for a list and keeps what names its page.
pub(crate) fn list(kind: &Kind, asked: &Asked) -> Result<(Vec<Item>, Run), Fault> {
    let mut item = serde_json::Map::new();
    item.insert("title".into(), json!("what it is called, in a few words"));
    item.insert("url".into(), json!("the page it is from"));
    item.extend(items::form(kind.sections));
    let what = format!("Find up to {} {} this JSON string asks for:", asked.top_k, kind.what);
    let answer = ask::ask(asked, &what, &json!({"items": [Value::Object(item)]}))?;
    let read = parse::list(&answer, "items").ok_or_else(|| unreadable(&answer))?;
    let cut = cut(&answer, read.whole);
    let kept = items::keep(kind.sections, read.value, &answer.sources, asked.top_k);
    if kept.items.is_empty() && cut.is_some() {
        return Err(unreadable(&answer));
    }
    let run = Run::new(kind.tool, asked, &answer, cut, kept.items.len(), kept.left_out);
    Ok((kept.items, run))
}

/// Why an answer is not all there.
pub(crate) fn cut(answer: &Completion, whole: bool) -> Option<String> {
    match &answer.cut_short {
        Some(why) => Some(reason(why)),
        None => (!whole).then(|| "its text ends, or breaks, in the middle".to_owned()),
    }
}

/// Why, as the end of a sentence that goes on.
fn reason(why: &str) -> String {
    one_line(why, 200).trim_end_matches('.').to_owned()
}

/// An answer of which nothing can be used: a failure, not "nothing found".
pub(crate) fn unreadable(answer: &Completion) -> Fault {
    let model = one_line(&answer.model, 100);
    let why = match &answer.cut_short {
        Some(why) => format!("was cut short before anything of it was whole: {}", reason(why)),
        None => "is not in the form that was asked for".into(),
    };
    Fault::new(FaultKind::Unavailable, format!("Research error: the answer of model '{model}' {why}."))
        .hint("Ask again, ask for less (a smaller top_k, depth light), or let the host use another model.")
}

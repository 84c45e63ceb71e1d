//! What a model answers, made into what a reply shows: items, each with the page it is from.

use gatehouse_sdk::models::WebSource;
use gatehouse_wiki::one_line;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    clean,
    sections::{SectionTable, SectionTexts},
    sources::{self, Evidence},
};

/// Characters of a title.
const MAX_TITLE_CHARS: usize = 200;

// One idea, or one implementation. Not a doc comment: agents would pay for it in each list of tools.
#[derive(Serialize, JsonSchema)]
#[serde(bound(serialize = "S: SectionTable"))]
#[schemars(bound = "S: SectionTable", rename = "Item")]
pub(crate) struct ResearchItem<S> {
    pub(crate) title: String,
    /// The page it is from.
    pub(crate) url: String,
    /// Whether the provider says that the model read that page, the site only, or none of it.
    pub(crate) evidence: Evidence,
    #[serde(flatten)]
    pub(crate) texts: SectionTexts<S>,
}

/// Items that name their page, at most `top_k`, those of one page as one; and how many name no page, or say nothing.
pub(crate) fn collect_items<S: SectionTable>(
    values: &[Value],
    read: &[WebSource],
    top_k: usize,
) -> (Vec<ResearchItem<S>>, usize) {
    let mut items: Vec<ResearchItem<S>> = Vec::new();
    let mut left_out = 0;
    for value in values {
        let Some(item) = item(value, read) else {
            left_out += 1;
            continue;
        };
        let page = sources::key(&item.url);
        match items.iter_mut().find(|known| sources::key(&known.url) == page) {
            Some(known) => merge(known, item),
            None => items.push(item),
        }
    }
    items.truncate(top_k);
    (items, left_out)
}

fn item<S: SectionTable>(value: &Value, read: &[WebSource]) -> Option<ResearchItem<S>> {
    let map = value.as_object()?;
    let url = address(map)?;
    let texts = SectionTexts::read(map);
    let title = title(map);
    if title.is_empty() && texts.by_key.is_empty() {
        return None;
    }
    let title = if title.is_empty() { sources::site(&url) } else { title };
    Some(ResearchItem { title, evidence: sources::evidence(&url, read), url, texts })
}

/// The page that an item or a reference names. Not every model keeps to the name that it was asked to use.
pub(crate) fn address(map: &Map<String, Value>) -> Option<String> {
    let named = ["url", "source_url", "source"].iter().filter_map(|key| map.get(*key)?.as_str());
    named.filter_map(sources::address).next()
}

/// What an item or a reference is called; empty where it does not say.
pub(crate) fn title(map: &Map<String, Value>) -> String {
    line(map.get("title").and_then(Value::as_str).unwrap_or_default())
}

/// The text as a title of one line.
pub(crate) fn line(text: &str) -> String {
    let seen: String =
        clean::start(text, MAX_TITLE_CHARS * 4).chars().map(sources::hidden_to_space).collect();
    one_line(&seen, MAX_TITLE_CHARS)
}

fn merge<S: SectionTable>(known: &mut ResearchItem<S>, other: ResearchItem<S>) {
    if !known.title.to_lowercase().contains(&other.title.to_lowercase()) {
        known.title = line(&format!("{} · {}", known.title, other.title));
    }
    known.texts.merge(other.texts);
}

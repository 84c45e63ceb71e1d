//! Converts a model's answer to items, each with its source page.

use gatehouse_sdk::models::WebSource;
use gatehouse_wiki::{head, one_line};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    sections::{SectionTable, SectionTexts},
    sources::{self, Evidence},
};

const MAX_TITLE_CHARS: usize = 200;

// No doc comment: agents would pay for it in each list of tools.
#[derive(Serialize, JsonSchema)]
#[serde(bound(serialize = "S: SectionTable"))]
#[schemars(bound = "S: SectionTable", rename = "Item")]
pub(crate) struct ResearchItem<S> {
    pub(crate) title: String,
    /// The source page.
    pub(crate) url: String,
    /// Pages the model read, by the provider's account: this page, only its site, or none of it.
    pub(crate) evidence: Evidence,
    #[serde(flatten)]
    pub(crate) texts: SectionTexts<S>,
}

/// Collects up to `top_k` items that name a page, and merges items with the same page. Also returns the number of items
/// without a page or content.
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
        match items.iter_mut().find(|existing| sources::key(&existing.url) == page) {
            Some(existing) => merge(existing, item),
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

/// Returns the page of an item or reference. Some models use other keys than requested.
pub(crate) fn address(map: &Map<String, Value>) -> Option<String> {
    let named = ["url", "source_url", "source"].iter().filter_map(|key| map.get(*key)?.as_str());
    named.filter_map(sources::address).next()
}

pub(crate) fn title(map: &Map<String, Value>) -> String {
    line(map.get("title").and_then(Value::as_str).unwrap_or_default())
}

pub(crate) fn line(text: &str) -> String {
    let space = |c| if sources::is_hidden(c) { ' ' } else { c };
    let seen: String = head(text, MAX_TITLE_CHARS * 4).chars().map(space).collect();
    one_line(&seen, MAX_TITLE_CHARS)
}

fn merge<S: SectionTable>(existing: &mut ResearchItem<S>, other: ResearchItem<S>) {
    if !existing.title.to_lowercase().contains(&other.title.to_lowercase()) {
        existing.title = line(&format!("{} · {}", existing.title, other.title));
    }
    existing.texts.merge(other.texts);
}

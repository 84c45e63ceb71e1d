//! What a model answers, made into what a reply shows: sections of items, each with the page it is from.

use std::collections::BTreeMap;

use gatehouse_sdk::models::WebSource;
use gatehouse_wiki::one_line;
use serde_json::{Map, Value, json};

use crate::{
    clean,
    sources::{self, Evidence},
};

/// Characters of a title.
const TITLE_MAX: usize = 200;

/// Lists in lists that are still written as such.
const DEEP: usize = 3;

/// One section, as the model is asked for it and as the reply shows it.
pub(crate) struct Section {
    /// The name in JSON.
    pub(crate) key: &'static str,
    /// The heading in text.
    pub(crate) heading: &'static str,
    /// What belongs there, for the model.
    pub(crate) about: &'static str,
    /// Characters of it, about.
    pub(crate) max: usize,
    /// Whether it is code.
    pub(crate) code: bool,
}

/// A section of text, of one item among others.
pub(crate) const fn section(key: &'static str, heading: &'static str, about: &'static str) -> Section {
    Section { key, heading, about, max: 4_000, code: false }
}

/// Cleaned texts of sections that have one, by key.
pub(crate) type Texts = BTreeMap<&'static str, String>;

/// One idea, or one implementation.
pub(crate) struct Item {
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) evidence: Evidence,
    pub(crate) texts: Texts,
}

/// What became of an answer.
pub(crate) struct Kept {
    pub(crate) items: Vec<Item>,
    /// Items that name no page, or say nothing.
    pub(crate) left_out: usize,
}

/// Items that name their page, at most `top_k`; those of one page are one.
pub(crate) fn keep(
    sections: &'static [Section],
    values: Vec<Value>,
    read: &[WebSource],
    top_k: usize,
) -> Kept {
    let mut items: Vec<Item> = Vec::new();
    let mut left_out = 0;
    for value in &values {
        let Some(item) = item(sections, value, read) else {
            left_out += 1;
            continue;
        };
        let page = sources::key(&item.url);
        match items.iter_mut().find(|known| sources::key(&known.url) == page) {
            Some(known) => merge(known, item, sections),
            None => items.push(item),
        }
    }
    items.truncate(top_k);
    Kept { items, left_out }
}

fn item(sections: &'static [Section], value: &Value, read: &[WebSource]) -> Option<Item> {
    let map = value.as_object()?;
    let url = address(map)?;
    let texts = texts(sections, map);
    let title = title(map);
    if title.is_empty() && texts.is_empty() {
        return None;
    }
    let title = if title.is_empty() { sources::site(&url) } else { title };
    Some(Item { title, evidence: sources::evidence(&url, read), url, texts })
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
    let seen: String = clean::start(text, TITLE_MAX * 4).chars().map(sources::spaced).collect();
    one_line(&seen, TITLE_MAX)
}

/// The sections that say something.
pub(crate) fn texts(sections: &'static [Section], map: &Map<String, Value>) -> Texts {
    let one = |section: &'static Section| {
        let text = plain(map.get(section.key)?, 0);
        let clean = if section.code { clean::code } else { clean::prose };
        let text = clean(&text, section.max);
        (!text.is_empty()).then_some((section.key, text))
    };
    sections.iter().filter_map(one).collect()
}

/// Text was asked for; lists and tables become Markdown lists, and what is in them JSON where it goes deep.
fn plain(value: &Value, deep: usize) -> String {
    let line = |text: String| format!("- {}", text.trim().replace('\n', "\n  "));
    let lines = |all: Vec<String>| all.into_iter().map(line).collect::<Vec<_>>().join("\n");
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(all) if deep < DEEP => lines(all.iter().map(|value| plain(value, deep + 1)).collect()),
        Value::Object(all) if deep < DEEP => {
            lines(all.iter().map(|(key, value)| format!("{key}: {}", plain(value, deep + 1))).collect())
        }
        _ => value.to_string(),
    }
}

/// Two items of one page: what one does not say, the other does; what both say stands one after the other.
fn merge(known: &mut Item, other: Item, sections: &'static [Section]) {
    if !known.title.to_lowercase().contains(&other.title.to_lowercase()) {
        known.title = line(&format!("{} · {}", known.title, other.title));
    }
    for (key, text) in other.texts {
        let max = sections.iter().find(|section| section.key == key).map_or(0, |section| section.max);
        let there = known.texts.entry(key).or_default();
        let fits = (there.len() + text.len()) <= max * 2;
        match (there.is_empty(), there.contains(&text)) {
            (true, _) => *there = text,
            (false, false) if fits => *there += &format!("\n\n{text}"),
            _ => {}
        }
    }
}

/// The sections as the model is asked for them.
pub(crate) fn form(sections: &[Section]) -> Map<String, Value> {
    sections.iter().map(|section| (section.key.to_owned(), json!(section.about))).collect()
}

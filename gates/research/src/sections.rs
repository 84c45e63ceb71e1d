//! Sections of an answer: what the model is asked for, what the reply shows, and what the reply's data holds, all
//! from one table a tool.

use std::{borrow::Cow, collections::BTreeMap, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::clean;

/// Levels of nested lists that are still written as lists.
const MAX_LIST_DEPTH: usize = 3;

/// One section, as the model is asked for it and as the reply shows it.
pub(crate) struct SectionSpec {
    pub(crate) key: &'static str,
    pub(crate) heading: &'static str,
    /// What belongs there, for the model.
    pub(crate) about: &'static str,
    /// Characters of it, about.
    pub(crate) max: usize,
    /// Whether it is code.
    pub(crate) code: bool,
}

/// The table of one tool, as a type, so that the schema of its reply can name the sections.
pub(crate) trait SectionTable {
    const ALL: &'static [SectionSpec];

    /// The sections as the model is asked for them.
    fn form() -> Map<String, Value> {
        Self::ALL.iter().map(|section| (section.key.to_owned(), json!(section.about))).collect()
    }
}

/// Cleaned texts of the sections that say something, by key.
pub(crate) struct SectionTexts<S> {
    pub(crate) by_key: BTreeMap<&'static str, String>,
    sections: PhantomData<S>,
}

impl<S: SectionTable> SectionTexts<S> {
    /// Cleans what the model wrote.
    pub(crate) fn read(answer: &Map<String, Value>) -> Self {
        let text = |section: &'static SectionSpec| {
            let text = plain(answer.get(section.key)?, 0);
            let clean = if section.code { clean::code } else { clean::prose };
            let text = clean(&text, section.max);
            (!text.is_empty()).then_some((section.key, text))
        };
        Self { by_key: S::ALL.iter().filter_map(text).collect(), sections: PhantomData }
    }

    /// Takes over what other texts say: what both say stands one after the other, where it fits.
    pub(crate) fn merge(&mut self, mut other: Self) {
        for section in S::ALL {
            let Some(text) = other.by_key.remove(section.key) else { continue };
            let there = self.by_key.entry(section.key).or_default();
            if there.is_empty() {
                *there = text;
            } else if !there.contains(&text) && there.len() + text.len() <= section.max * 2 {
                *there += &format!("\n\n{text}");
            }
        }
    }

    /// The sections in their order, each under its heading.
    pub(crate) fn render(&self, mark: &str) -> String {
        let present =
            S::ALL.iter().filter_map(|section| Some((section.heading, self.by_key.get(section.key)?)));
        present.map(|(heading, text)| format!("\n{mark} {heading}\n\n{text}\n")).collect()
    }
}

impl<S: SectionTable> Serialize for SectionTexts<S> {
    fn serialize<T: Serializer>(&self, to: T) -> Result<T::Ok, T::Error> {
        to.collect_map(S::ALL.iter().filter_map(|section| Some((section.key, self.by_key.get(section.key)?))))
    }
}

impl<S: SectionTable> JsonSchema for SectionTexts<S> {
    fn schema_name() -> Cow<'static, str> {
        "Texts".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let texts = S::ALL.iter().map(|section| (section.key.to_owned(), json!({"type": "string"})));
        json_schema!({"type": "object", "properties": texts.collect::<Map<_, _>>()})
    }
}

/// Text was asked for; lists and tables become Markdown lists, and what is in them JSON where it goes deep.
fn plain(value: &Value, depth: usize) -> String {
    let line = |text: String| format!("- {}", text.trim().replace('\n', "\n  "));
    let lines = |all: Vec<String>| all.into_iter().map(line).collect::<Vec<_>>().join("\n");
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(all) if depth < MAX_LIST_DEPTH => {
            lines(all.iter().map(|value| plain(value, depth + 1)).collect())
        }
        Value::Object(all) if depth < MAX_LIST_DEPTH => {
            lines(all.iter().map(|(key, value)| format!("{key}: {}", plain(value, depth + 1))).collect())
        }
        _ => value.to_string(),
    }
}

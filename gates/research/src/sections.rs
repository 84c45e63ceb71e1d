//! Sections of an answer. One table per tool defines the form for the model, the text of the reply, and the schema of
//! its data.

use std::{borrow::Cow, collections::BTreeMap, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::clean;

const MAX_LIST_DEPTH: usize = 3;

pub(crate) struct SectionSpec {
    pub(crate) key: &'static str,
    pub(crate) heading: &'static str,
    /// Description of the content, for the model.
    pub(crate) hint: &'static str,
    pub(crate) max: usize,
    pub(crate) code: bool,
}

/// The section table of one tool, as a type, so that the schema of its reply can name the sections.
pub(crate) trait SectionTable {
    const ALL: &'static [SectionSpec];

    fn form() -> Map<String, Value> {
        Self::ALL.iter().map(|section| (section.key.to_owned(), json!(section.hint))).collect()
    }
}

pub(crate) struct SectionTexts<S> {
    pub(crate) by_key: BTreeMap<&'static str, String>,
    sections: PhantomData<S>,
}

impl<S: SectionTable> SectionTexts<S> {
    pub(crate) fn read(answer: &Map<String, Value>) -> Self {
        let text = |section: &'static SectionSpec| {
            let text = plain(answer.get(section.key)?, 0);
            let clean = if section.code { clean::code } else { clean::prose };
            let text = clean(&text, section.max);
            (!text.is_empty()).then_some((section.key, text))
        };
        Self { by_key: S::ALL.iter().filter_map(text).collect(), sections: PhantomData }
    }

    /// Merges other texts: different texts of a section are joined if they fit.
    pub(crate) fn merge(&mut self, mut other: Self) {
        for section in S::ALL {
            let Some(text) = other.by_key.remove(section.key) else { continue };
            let existing = self.by_key.entry(section.key).or_default();
            if existing.is_empty() {
                *existing = text;
            } else if !existing.contains(&text) && existing.len() + text.len() <= section.max * 2 {
                *existing += &format!("\n\n{text}");
            }
        }
    }

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

/// Converts a value to text. Lists and objects become Markdown lists, and deeply nested ones become JSON.
fn plain(value: &Value, depth: usize) -> String {
    let line = |text: String| format!("- {}", text.trim().replace('\n', "\n  "));
    let lines = |texts: Vec<String>| texts.into_iter().map(line).collect::<Vec<_>>().join("\n");
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) if depth < MAX_LIST_DEPTH => {
            lines(items.iter().map(|value| plain(value, depth + 1)).collect())
        }
        Value::Object(members) if depth < MAX_LIST_DEPTH => {
            lines(members.iter().map(|(key, value)| format!("{key}: {}", plain(value, depth + 1))).collect())
        }
        _ => value.to_string(),
    }
}

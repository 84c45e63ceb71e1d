//! One-line signatures of tools for lists that agents read, a tenth as long as the schema.

use serde_json::{Map, Value};

use crate::{ToolSpec, names};

pub const MAX_BRIEF: usize = 100;

/// Bytes of parameters after which a signature ends with `…`.
const MAX_PARAMETERS: usize = 120;

/// Limits for the values of an enumeration.
const MAX_VALUES: usize = 4;
const MAX_VALUE_CHARACTERS: usize = 40;

/// Returns `name(arg: type, opt?: type) brief`, with required parameters first.
pub fn signature(tool: &ToolSpec) -> String {
    let schema = &tool.input_schema;
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let is_required = |name: &&String| required.contains(&name.as_str());
    let (first, then): (Vec<_>, Vec<_>) = properties.keys().partition(is_required);
    let required_count = first.len();
    let mut parameters = String::new();
    for (index, name) in first.into_iter().chain(then).enumerate() {
        let between = if index == 0 { "" } else { ", " };
        if parameters.len() > MAX_PARAMETERS {
            parameters += ", …";
            break;
        }
        let mark = if index < required_count { "" } else { "?" };
        let name_shown = names::quoted(name, MAX_VALUE_CHARACTERS);
        parameters += &format!("{between}{name_shown}{mark}: {}", kind(&properties[name]));
    }
    let head = format!("{}({parameters})", tool.name);
    match brief(&tool.description) {
        brief if brief.is_empty() => head,
        brief => format!("{head} {brief}"),
    }
}

/// Returns the first sentence of a description in one line, at most [`MAX_BRIEF`] characters.
pub fn brief(description: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    // A new sentence starts with a capital letter, unlike the text after `e.g.`.
    let ends = line.match_indices(". ").map(|(at, _)| at + 1);
    let mut sentences = ends.filter(|end| line[end + 1..].starts_with(char::is_uppercase));
    let sentence = sentences.next().map_or(line.as_str(), |end| &line[..end]);
    if sentence.chars().count() <= MAX_BRIEF {
        return sentence.to_owned();
    }
    let cut: String = sentence.chars().take(MAX_BRIEF - 1).collect();
    let end = cut.rfind(' ').filter(|at| *at > cut.len() / 2).unwrap_or(cut.len());
    format!("{}…", &cut[..end])
}

fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let choices = values.iter().map(Value::to_string).collect::<Vec<_>>().join("|");
        if values.len() <= MAX_VALUES && choices.chars().count() <= MAX_VALUE_CHARACTERS {
            return choices;
        }
    }
    let named = match schema.get("type") {
        Some(Value::String(name)) => name.as_str(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any")
        }
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("enum").is_some() => "string",
        _ => "any",
    };
    match (named, schema.get("items")) {
        ("array", Some(items)) if items.is_object() => {
            let item = kind(items);
            if item.contains('|') { format!("({item})[]") } else { format!("{item}[]") }
        }
        _ => named.chars().take(MAX_VALUE_CHARACTERS).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn signature_text(description: &str, schema: Value) -> String {
        let mut tool = crate::testing::tool("create_issue", None);
        tool.description = description.into();
        tool.input_schema = Arc::new(schema.as_object().cloned().expect("an object"));
        signature(&tool)
    }

    #[test]
    fn required_parameters_come_first_and_optional_ones_are_marked() {
        let schema = json!({"type": "object", "required": ["title", "repo"], "properties": {
            "labels": {"type": "array", "items": {"type": "string"}},
            "repo": {"type": "string"},
            "state": {"enum": ["open", "closed"]},
            "title": {"type": ["null", "string"]},
            "extra": {},
        }});
        let text = signature_text("Opens an issue. Use it with care.", schema);
        assert!(text.starts_with("create_issue(repo: string, title: string, "), "{text}");
        assert!(text.contains("labels?: string[]") && text.contains("state?: \"open\"|\"closed\""), "{text}");
        assert!(text.contains("extra?: any") && text.ends_with(") Opens an issue."), "{text}");
        assert_eq!(signature_text("", json!({"type": "object"})), "create_issue()");
    }

    #[test]
    fn a_brief_is_one_sentence_that_fits() {
        assert_eq!(brief("Reads,\n e.g. a file. Then stops."), "Reads, e.g. a file.");
        let long = brief(&"word ".repeat(100));
        assert!(long.ends_with("word…") && long.chars().count() <= MAX_BRIEF, "{long}");
        assert_eq!(brief(&"ä".repeat(500)).chars().count(), MAX_BRIEF);
    }

    #[test]
    fn a_signature_is_bounded_whatever_the_schema() {
        let many: Map<String, Value> =
            (0..500).map(|n| (format!("p{n}"), json!({"enum": ["x".repeat(500)]}))).collect();
        let text = signature_text(&"y".repeat(10_000), json!({"type": "object", "properties": many}));
        assert!(text.chars().count() < 500 && text.contains(", …)"), "{text}");
    }
}

//! Violations and their messages.

use serde_json::Value;

use super::{
    CheckInterrupt, StepBudget, kind_of,
    node::{Keyword, SchemaNodeId, SchemaTree},
};
use crate::names;

/// Maximum characters of a list of choices in a message.
const MAX_CHOICES: usize = 400;

#[derive(Debug, Default)]
pub(super) struct Violation {
    /// Path steps from the value up to the root.
    path: Vec<String>,
    /// A predicate about the value, "must be …", or the name of a missing member.
    words: String,
    is_missing: bool,
}

impl Violation {
    pub(super) fn new(words: String) -> Self {
        Self { words, ..Self::default() }
    }

    pub(super) fn missing(name: &str) -> Self {
        Self { words: name.to_owned(), is_missing: true, ..Self::default() }
    }

    pub(super) fn with_path_step(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    /// Returns the message. `noun` is the word for a member ("argument", "parameter").
    pub(super) fn into_message(mut self, noun: &str) -> String {
        self.path.reverse();
        let path = self.path.join(".");
        let words = &self.words;
        if self.is_missing {
            return format!(
                "missing required {noun} '{}'{}.",
                names::quoted(words, 64),
                location_suffix(&path)
            );
        }
        let end = if words.ends_with('?') { "" } else { "." };
        match &*path {
            "" => format!("the {noun}s {words}{end}"),
            path => format!("'{}' {words}{end}", names::quoted(path, 80)),
        }
    }
}

/// Returns a message about the first unknown member of a closed schema, if there is one.
///
/// Report it before other violations: a misspelled name explains a missing one.
pub(super) fn unknown_member(
    tree: &SchemaTree,
    value: &Value,
    noun: &str,
    steps: &mut StepBudget<'_>,
) -> Result<Option<String>, CheckInterrupt> {
    let Some((mut path, name, id)) = find_unknown(tree, tree.root, value, steps)? else { return Ok(None) };
    path.reverse();
    let member_names = tree.node(id).members().into_iter().flat_map(|members| members.named.keys());
    let mut member_names: Vec<&str> = member_names.map(String::as_str).collect();
    member_names.sort_unstable();
    let suggestion = names::did_you_mean(name, member_names);
    Ok(Some(format!(
        "unknown {noun} '{}'{}.{suggestion}",
        names::quoted(name, 64),
        location_suffix(&path.join("."))
    )))
}

/// Path steps up to the root, the name, and the schema that does not define it.
type UnknownMember<'v> = (Vec<String>, &'v str, SchemaNodeId);

fn find_unknown<'v>(
    tree: &SchemaTree,
    id: SchemaNodeId,
    value: &'v Value,
    steps: &mut StepBudget<'_>,
) -> Result<Option<UnknownMember<'v>>, CheckInterrupt> {
    steps.spend(1)?;
    let node = tree.node(id);
    match value {
        Value::Array(items) => {
            let rest = node.keywords.iter().find_map(|keyword| match keyword {
                Keyword::Items { first, rest } if first.is_empty() => *rest,
                _ => None,
            });
            let Some(rest) = rest else { return Ok(None) };
            for (at, item) in items.iter().enumerate() {
                if let Some((mut path, name, id)) = find_unknown(tree, rest, item, steps)? {
                    path.push(at.to_string());
                    return Ok(Some((path, name, id)));
                }
            }
        }
        Value::Object(object) => {
            let Some(members) = node.members() else { return Ok(None) };
            steps.spend(object.len() as u64)?;
            let closed = members.matching.is_empty()
                && members.others.is_some_and(|schema| tree.node(schema).is_never());
            if closed && let Some(name) = object.keys().find(|name| !members.named.contains_key(*name)) {
                return Ok(Some((Vec::new(), name, id)));
            }
            for (name, part) in object {
                let Some(below) = members.named.get(name) else { continue };
                if let Some((mut path, unknown, id)) = find_unknown(tree, *below, part, steps)? {
                    path.push(name.clone());
                    return Ok(Some((path, unknown, id)));
                }
            }
        }
        _ => {}
    }
    Ok(None)
}

pub(super) fn not_a_choice(choices: &[Value], value: &Value) -> String {
    let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    let suggestion =
        value.as_str().map(|text| names::did_you_mean(text, words.iter().copied())).unwrap_or_default();
    let listed = choices.iter().take(100).map(plain).collect::<Vec<_>>().join(", ");
    let end = if suggestion.is_empty() { "" } else { "." };
    format!(
        "must be one of {}, got {}{end}{suggestion}",
        names::quoted(&listed, MAX_CHOICES),
        quoted_value(value)
    )
}

fn plain(choice: &Value) -> String {
    match choice {
        Value::String(text) => names::quoted(text, 64),
        other => quoted_value(other),
    }
}

pub(super) fn quoted_value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", names::quoted(text, 40)),
        Value::Array(_) | Value::Object(_) => kind_of(value).into(),
        Value::Number(number) => names::quoted(number.as_str(), 40),
        other => other.to_string(),
    }
}

fn location_suffix(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in '{}'", names::quoted(path, 80)) }
}

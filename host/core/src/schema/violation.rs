//! What is wrong with a value, in words that help whoever sent it.

use serde_json::Value;

use super::{
    kind_of,
    node::{Id, Keyword, Tree},
    step_budget::{StepBudget, Stopped},
};
use crate::names;

/// The most characters that a list of choices may take in a message.
const MAX_CHOICES: usize = 400;

/// One thing that is wrong, and where.
#[derive(Debug, Default)]
pub(super) struct Violation {
    /// From the place to the root.
    path: Vec<String>,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A member is not there.
    Missing(String),
    /// Said of the place: "must be …".
    Unlike(String),
}

impl Default for What {
    fn default() -> Self {
        Self::Unlike(String::new())
    }
}

impl Violation {
    pub(super) fn of(words: String) -> Self {
        Self { path: Vec::new(), what: What::Unlike(words) }
    }

    pub(super) fn missing(name: &str) -> Self {
        Self { path: Vec::new(), what: What::Missing(name.to_owned()) }
    }

    pub(super) fn within(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }

    /// The mistake as a sentence, `noun` being what to call a member ("argument", "parameter").
    pub(super) fn in_words(mut self, noun: &str) -> String {
        self.path.reverse();
        let path = self.path.join(".");
        match self.what {
            What::Missing(name) => {
                format!("missing required {noun} '{}'{}.", names::quoted(&name, 64), within(&path))
            }
            What::Unlike(words) => {
                let end = if words.ends_with('?') { "" } else { "." };
                match &*path {
                    "" => format!("the {noun}s {words}{end}"),
                    path => format!("'{}' {words}{end}", names::quoted(path, 80)),
                }
            }
        }
    }
}

/// The member that a schema closed to others does not know, as a sentence, if there is one. Said before
/// all else: a wrong name explains more than what it leaves missing.
pub(super) fn unknown_member(
    tree: &Tree,
    value: &Value,
    noun: &str,
    steps: &mut StepBudget<'_>,
) -> Result<Option<String>, Stopped> {
    let Some((mut path, name, id)) = find_unknown(tree, tree.root, value, steps)? else { return Ok(None) };
    path.reverse();
    let known = tree.node(id).members().into_iter().flat_map(|members| members.named.keys());
    let mut known: Vec<&str> = known.map(String::as_str).collect();
    known.sort_unstable();
    let near = names::did_you_mean(name, known);
    Ok(Some(format!("unknown {noun} '{}'{}.{near}", names::quoted(name, 64), within(&path.join(".")))))
}

/// Where it is, from there to the root; its name; and the schema that does not know it.
type Unknown<'v> = (Vec<String>, &'v str, Id);

fn find_unknown<'v>(
    tree: &Tree,
    id: Id,
    value: &'v Value,
    steps: &mut StepBudget<'_>,
) -> Result<Option<Unknown<'v>>, Stopped> {
    steps.spend(1)?;
    let node = tree.node(id);
    match value {
        Value::Array(items) => {
            let rest = node.keywords.iter().find_map(|keyword| match keyword {
                Keyword::Items(items) if items.first.is_empty() => items.rest,
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
        Value::Object(given) => {
            let Some(members) = node.members() else { return Ok(None) };
            steps.spend(given.len() as u64)?;
            let closed = members.matching.is_empty()
                && members.others.is_some_and(|others| tree.node(others).is_never());
            if closed && let Some(name) = given.keys().find(|name| !members.named.contains_key(*name)) {
                return Ok(Some((Vec::new(), name, id)));
            }
            for (name, part) in given {
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

/// That a value is not one of those that there are to choose from.
pub(super) fn not_a_choice(choices: &[Value], value: &Value) -> String {
    let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
    let near =
        value.as_str().map(|given| names::did_you_mean(given, words.iter().copied())).unwrap_or_default();
    let listed = choices.iter().take(100).map(plain).collect::<Vec<_>>().join(", ");
    let end = if near.is_empty() { "" } else { "." };
    format!("must be one of {}, got {}{end}{near}", names::quoted(&listed, MAX_CHOICES), shown(value))
}

fn plain(choice: &Value) -> String {
    match choice {
        Value::String(text) => names::quoted(text, 64),
        other => shown(other),
    }
}

/// A value as a message shows it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", names::quoted(text, 40)),
        Value::Array(_) | Value::Object(_) => kind_of(value).into(),
        other => other.to_string(),
    }
}

fn within(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" in '{}'", names::quoted(path, 80)) }
}

//! What stands for a part of an artifact in arguments: found, read and replaced.

use serde_json::{Map, Value};

use crate::{
    json::JsonReader,
    names,
    outcome::Fault,
    ports::artifacts::{ArtifactPart, TextRange},
};

/// The member that makes an object stand for a part of an artifact; its value is the id.
pub(super) const MARKER: &str = "$artifact";

/// What else it may have.
const MARKER_OPTIONS: [&str; 3] = ["pointer", "range", "as"];

/// Whether a schema, or a schema in it, has a property of its own that is called so.
pub(crate) fn has_own_markers(schema: &Map<String, Value>) -> bool {
    let own = schema.get("properties").and_then(Value::as_object);
    own.is_some_and(|own| own.contains_key(MARKER)) || schema.values().any(value_has_own_markers)
}

fn value_has_own_markers(value: &Value) -> bool {
    match value {
        Value::Object(schema) => has_own_markers(schema),
        Value::Array(items) => items.iter().any(value_has_own_markers),
        _ => false,
    }
}

/// What stands for a part of an artifact.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArtifactMarker {
    pub(super) id: String,
    pointer: Option<String>,
    /// Lines from 1, both included.
    range: Option<(u64, u64)>,
    as_json: bool,
}

/// Adds what stands in a value, in the order in which [`replace`] wants the values.
pub(super) fn find(value: &Value, into: &mut Vec<ArtifactMarker>) -> Result<(), Fault> {
    match value {
        Value::Object(members) if members.contains_key(MARKER) => into.push(ArtifactMarker::read(members)?),
        Value::Object(members) => members.values().try_for_each(|value| find(value, into))?,
        Value::Array(items) => items.iter().try_for_each(|value| find(value, into))?,
        _ => {}
    }
    Ok(())
}

/// Puts the values in place of the markers. What is put in is not looked at.
pub(super) fn replace(value: &mut Value, values: &mut impl Iterator<Item = Value>) {
    match value {
        Value::Object(members) if members.contains_key(MARKER) => {
            if let Some(new) = values.next() {
                *value = new;
            }
        }
        Value::Object(members) => members.values_mut().for_each(|value| replace(value, values)),
        Value::Array(items) => items.iter_mut().for_each(|value| replace(value, values)),
        _ => {}
    }
}

impl ArtifactMarker {
    fn read(members: &Map<String, Value>) -> Result<Self, Fault> {
        let wrong = |why: &str| Err(Self::wrong(&format!("{why}.")));
        let text = |name: &str| match members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Self::wrong(&format!("has '{name}', which must be a text."))),
        };
        if let Some(other) =
            members.keys().find(|name| *name != MARKER && !MARKER_OPTIONS.contains(&name.as_str()))
        {
            let near = names::did_you_mean(other, MARKER_OPTIONS);
            return Err(Self::wrong(&format!("has no '{}'.{near}", names::quoted(other, 64))));
        }
        let (id, pointer) = (text(MARKER)?.unwrap_or_default(), text("pointer")?);
        let range = match members.get("range").map(lines) {
            Some(None) => return wrong("has 'range', which must be [first line, last line] from 1"),
            given => given.flatten(),
        };
        if pointer.is_some() && range.is_some() {
            return wrong("has 'pointer' and 'range'; one of them is enough");
        }
        if pointer.as_ref().is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
            return wrong("has 'pointer', which must be empty or begin with '/'");
        }
        let as_json = match text("as")?.as_deref() {
            None => pointer.is_some(),
            Some("json") => true,
            Some("text") => false,
            Some(_) => return wrong("has 'as', which must be \"json\" or \"text\""),
        };
        Ok(Self { id, pointer, range, as_json })
    }

    fn wrong(why: &str) -> Fault {
        Fault::invalid(format!("What stands for a part of an artifact {why}")).hint(
            "It is {\"$artifact\": \"art-…\"} with \"pointer\": \"/items/3\" or \"range\": [first line, last line], and \"as\": \"json\" or \"text\".",
        )
    }

    /// Whether all of the artifact is meant.
    pub(super) fn is_whole(&self) -> bool {
        self.pointer.is_none() && self.range.is_none()
    }

    /// What is to be read.
    pub(super) fn part(&self) -> ArtifactPart {
        match (&self.pointer, self.range) {
            (Some(pointer), _) => ArtifactPart::Pointer(pointer.clone()),
            (None, Some((first, last))) => {
                ArtifactPart::Lines(TextRange { offset: first - 1, count: last - first + 1 })
            }
            (None, None) => ArtifactPart::Whole,
        }
    }

    /// The value that takes its place.
    pub(super) fn value(&self, text: String, reader: &mut JsonReader) -> Result<Value, Fault> {
        if !self.as_json && self.pointer.is_none() {
            return Ok(Value::String(text));
        }
        let parsed = reader.parse(&text).map_err(|why| {
            Fault::invalid(format!("The part of artifact '{}' {why}.", names::quoted(&self.id, 80)))
                .hint("Leave \"as\" out to get the text as it is.")
        })?;
        Ok(match parsed {
            parsed if self.as_json => parsed,
            Value::String(inner) => Value::String(inner),
            _ => Value::String(text),
        })
    }
}

fn lines(range: &Value) -> Option<(u64, u64)> {
    match range.as_array()?.as_slice() {
        [first, last] => {
            let (first, last) = (first.as_u64()?, last.as_u64()?);
            (first >= 1 && last >= first && last < u64::MAX).then_some((first, last))
        }
        _ => None,
    }
}

//! Artifact markers in arguments: finds, parses and replaces them.

use serde_json::{Map, Value};

use crate::{
    Fault,
    json::JsonReader,
    names,
    ports::artifacts::{ArtifactPart, TextRange},
};

/// The member that makes an object a marker. Its value is the artifact id.
pub(super) const MARKER: &str = "$artifact";

const MARKER_OPTIONS: [&str; 3] = ["pointer", "range", "as"];

/// Returns true if a schema, or a nested schema, defines a property named [`MARKER`].
pub(crate) fn has_own_markers(schema: &Map<String, Value>) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.is_some_and(|properties| properties.contains_key(MARKER))
        || schema.values().any(value_has_own_markers)
}

fn value_has_own_markers(value: &Value) -> bool {
    match value {
        Value::Object(schema) => has_own_markers(schema),
        Value::Array(items) => items.iter().any(value_has_own_markers),
        _ => false,
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ArtifactMarker {
    pub(super) id: String,
    pointer: Option<String>,
    /// First and last line, counted from 1, inclusive.
    range: Option<(u64, u64)>,
    as_json: bool,
}

/// Collects the markers in a value, in the order that [`replace`] expects values.
pub(super) fn find(value: &Value, into: &mut Vec<ArtifactMarker>) -> Result<(), Fault> {
    match value {
        Value::Object(members) if members.contains_key(MARKER) => into.push(ArtifactMarker::read(members)?),
        Value::Object(members) => members.values().try_for_each(|value| find(value, into))?,
        Value::Array(items) => items.iter().try_for_each(|value| find(value, into))?,
        _ => {}
    }
    Ok(())
}

/// Replaces markers with values. Does not search the inserted values.
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
        let wrong = |reason: &str| Err(Self::wrong(reason));
        let text = |name: &str| match members.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Self::wrong(&format!("has '{name}', which must be a string"))),
        };
        if let Some(other) =
            members.keys().find(|name| *name != MARKER && !MARKER_OPTIONS.contains(&name.as_str()))
        {
            let suggestion = names::did_you_mean(other, MARKER_OPTIONS);
            return Err(Self::wrong(&format!(
                "has the unknown member '{}'.{suggestion}",
                names::quoted(other, 64)
            )));
        }
        let (id, pointer) = (text(MARKER)?.unwrap_or_default(), text("pointer")?);
        let range = match members.get("range").map(lines) {
            Some(None) => return wrong("has 'range', which must be [first line, last line] from 1"),
            value => value.flatten(),
        };
        if pointer.is_some() && range.is_some() {
            return wrong("has both 'pointer' and 'range'; use one of them");
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

    fn wrong(reason: &str) -> Fault {
        Fault::invalid(format!("artifact marker {reason}")).hint(
            "Write {\"$artifact\": \"art-…\"}, optionally with \"pointer\": \"/items/3\" or \"range\": [first line, \
            last line], and \"as\": \"json\" or \"text\".",
        )
    }

    pub(super) fn is_whole(&self) -> bool {
        self.pointer.is_none() && self.range.is_none()
    }

    pub(super) fn part(&self) -> ArtifactPart {
        match (&self.pointer, self.range) {
            (Some(pointer), _) => ArtifactPart::Pointer(pointer.clone()),
            (None, Some((first, last))) => {
                ArtifactPart::Lines(TextRange { offset: first - 1, count: last - first + 1 })
            }
            (None, None) => ArtifactPart::Whole,
        }
    }

    /// Converts the text that was read to the value that replaces the marker.
    pub(super) fn value(&self, text: String, reader: &mut JsonReader) -> Result<Value, Fault> {
        if !self.as_json && self.pointer.is_none() {
            return Ok(Value::String(text));
        }
        let parsed = reader.parse(&text).map_err(|reason| {
            Fault::invalid(format!(
                "the selected part of artifact '{}' {reason}",
                names::quoted(&self.id, 80)
            ))
            .hint("Omit \"as\" to insert the text unchanged.")
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

/// Fuzzes markers in arguments, with an artifact whose last line is invalid JSON.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_arguments(input: &[u8]) {
    const TEXT: &str = "{\"items\":[1,{\"a/b\":\"~\"},null]}\n[1e400]\nnot JSON\n";
    let Ok(sent) = std::str::from_utf8(input) else { return };
    let Ok(mut sent) = crate::json::parse(sent) else { return };
    let mut markers = Vec::new();
    if find(&sent, &mut markers).is_err() {
        return;
    }
    let mut reader = JsonReader::new(&crate::budget::ByteBudget::new(1 << 20));
    let values = markers.iter().map(|marker| {
        let _ = (marker.is_whole(), marker.part());
        marker.value(TEXT.to_owned(), &mut reader).unwrap_or(Value::Null)
    });
    let values: Vec<Value> = values.collect();
    replace(&mut sent, &mut values.into_iter());
}

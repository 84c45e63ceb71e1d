//! Extracts JSON from an answer. If the answer ends early, the complete values before the end count.

use gatehouse_sdk::models::Completion;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

const MAX_ELEMENTS: usize = 200;

pub(crate) struct ParsedJson<T> {
    pub(crate) value: T,
    pub(crate) whole: bool,
}

/// Returns the list under this key. `None` if there is no such value.
pub(crate) fn list(answer: &Completion, key: &str) -> Option<ParsedJson<Vec<Value>>> {
    match answer.object(key).and_then(|mut object| object.remove(key)) {
        Some(Value::Array(mut value)) => {
            value.truncate(MAX_ELEMENTS);
            Some(ParsedJson { value, whole: true })
        }
        Some(_) => None,
        None => after(&answer.text, key, '[').map(elements),
    }
}

pub(crate) fn object(answer: &Completion, key: &str) -> Option<ParsedJson<Map<String, Value>>> {
    match answer.object(key).and_then(|mut object| object.remove(key)) {
        Some(Value::Object(value)) => Some(ParsedJson { value, whole: true }),
        Some(_) => None,
        None => after(&answer.text, key, '{').map(members),
    }
}

fn after<'a>(text: &'a str, key: &str, open: char) -> Option<&'a str> {
    let quoted = format!("\"{key}\"");
    text.match_indices(&quoted).find_map(|(at, _)| {
        if text[..at].ends_with('\\') {
            return None;
        }
        let rest = text[at + quoted.len()..].trim_start().strip_prefix(':')?;
        rest.trim_start().strip_prefix(open)
    })
}

fn elements(mut rest: &str) -> ParsedJson<Vec<Value>> {
    let mut value = Vec::new();
    while value.len() < MAX_ELEMENTS {
        if rest.trim_start().starts_with(']') {
            return ParsedJson { value, whole: true };
        }
        let Some((element, after)) = next(rest) else { break };
        value.push(element);
        rest = past(after, ',');
    }
    ParsedJson { value, whole: false }
}

fn members(mut rest: &str) -> ParsedJson<Map<String, Value>> {
    let mut value = Map::new();
    while value.len() < MAX_ELEMENTS {
        if rest.trim_start().starts_with('}') {
            return ParsedJson { value, whole: true };
        }
        let Some((key, after)) = next::<String>(rest) else { break };
        let Some((member, after)) = next(past(after, ':')) else { break };
        value.insert(key, member);
        rest = past(after, ',');
    }
    ParsedJson { value, whole: false }
}

fn next<T: DeserializeOwned>(rest: &str) -> Option<(T, &str)> {
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, &rest[values.byte_offset()..]))
}

fn past(rest: &str, mark: char) -> &str {
    let rest = rest.trim_start();
    rest.strip_prefix(mark).unwrap_or(rest)
}

//! JSON schemas for responses, and extraction of a JSON object from surrounding text.

use serde_json::{Deserializer, Map, Value};

/// Maximum start positions to try; text can contain many braces.
const MAX_TRIES: usize = 64;

/// Maximum depth of a schema in strict mode.
const MAX_DEPTH: usize = 32;

/// Returns the schema as text for the prompt.
pub(crate) fn in_words(schema: &Map<String, Value>) -> String {
    let schema = Value::Object(schema.clone());
    format!(
        "\n\nAnswer with one JSON object and nothing else. It has to be valid against this JSON Schema:\n{schema}"
    )
}

/// Returns `true` if OpenAI's strict mode accepts a schema: every object requires all its properties and allows no
/// others.
pub(crate) fn is_strict(schema: &Map<String, Value>) -> bool {
    strict(&Value::Object(schema.clone()), MAX_DEPTH)
}

fn strict(schema: &Value, depth: usize) -> bool {
    let (Some(object), Some(depth)) = (schema.as_object(), depth.checked_sub(1)) else { return false };
    let properties = object.get("properties").and_then(Value::as_object);
    if properties.is_some() || object.get("type").is_some_and(|kind| kind == "object") {
        let required = object.get("required").and_then(Value::as_array);
        let named = |name: &String| required.is_some_and(|list| list.iter().any(|item| item == name));
        let closed = object.get("additionalProperties") == Some(&Value::Bool(false));
        if !closed || !properties.is_some_and(|properties| properties.keys().all(named)) {
            return false;
        }
    }
    let lists = ["anyOf"].iter().filter_map(|key| object.get(*key)?.as_array()).flatten();
    let maps = ["properties", "$defs"].iter().filter_map(|key| object.get(*key)?.as_object());
    let inner = lists.chain(maps.flat_map(Map::values)).chain(object.get("items"));
    let odd = ["oneOf", "allOf", "not", "if", "patternProperties", "prefixItems", "dependentSchemas"];
    inner.into_iter().all(|inner| strict(inner, depth)) && odd.iter().all(|key| !object.contains_key(*key))
}

/// Returns the longest JSON object in a text.
pub(crate) fn object_in(text: &str) -> Option<&str> {
    let mut longest: Option<&str> = None;
    let mut after = 0;
    for (start, _) in text.match_indices('{').take(MAX_TRIES) {
        // Skip objects inside one that was already parsed.
        if start < after {
            continue;
        }
        let rest = &text[start..];
        let mut values = Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        if let Some(Ok(_)) = values.next() {
            let object = &rest[..values.byte_offset()];
            after = start + object.len();
            if longest.is_none_or(|longest| longest.len() < object.len()) {
                longest = Some(object);
            }
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is(schema: Value) -> bool {
        is_strict(schema.as_object().expect("an object"))
    }

    #[test]
    fn strict_and_other_schemas_are_distinguished() {
        let item = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
        let list = |item: &Value| {
            json!({"type": "object", "properties": {"l": {"type": "array", "items": item}}, "required": ["l"],
                "additionalProperties": false})
        };
        assert!(is(item.clone()));
        assert!(is(list(&item)));
        let mut open = item.clone();
        open["additionalProperties"] = json!(true);
        let mut optional = item.clone();
        optional["required"] = json!([]);
        let mut odd = item;
        odd["allOf"] = json!([]);
        for schema in [open, optional, odd] {
            assert!(!is(schema.clone()), "{schema}");
            assert!(!is(list(&schema)), "{schema}");
        }
        let mut deep = json!({"type": "string"});
        for _ in 0..100 {
            deep = json!({"type": "array", "items": deep});
        }
        assert!(!is(deep));
    }

    #[test]
    fn the_object_is_found_in_what_is_around_it() {
        assert_eq!(object_in("{\"a\": 1}"), Some("{\"a\": 1}"));
        assert_eq!(
            object_in("Here {it} is:\n```json\n{\"a\": {\"b\": 2}}\n```\n{}"),
            Some("{\"a\": {\"b\": 2}}")
        );
        assert_eq!(object_in("no object [1]"), None);
        assert_eq!(object_in(&"{".repeat(100_000)), None);
    }
}

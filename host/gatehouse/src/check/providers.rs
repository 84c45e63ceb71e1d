//! Tool definitions that model providers refuse although MCP allows them. One such tool makes a request fail, together
//! with all other tools in it.

use serde_json::{Map, Value};

const MAX_FOUND: usize = 8;

/// Maximum length of a tool name that every provider accepts.
const MAX_NAME: usize = 64;

/// Keywords next to `type` at the top of a tool's schema, and the providers that refuse them.
const TOP_LEVEL_KEYWORDS: [(&str, &str); 5] = [
    ("oneOf", "Anthropic, OpenAI and Gemini"),
    ("anyOf", "Anthropic and OpenAI"),
    ("allOf", "Anthropic, OpenAI and Gemini"),
    ("not", "OpenAI"),
    ("enum", "OpenAI"),
];

/// Keywords whose value is a schema, a list of schemas, or schemas by name.
const SCHEMA_KEYWORDS: [&str; 8] =
    ["items", "not", "if", "then", "else", "contains", "propertyNames", "additionalItems"];
const SCHEMA_LIST_KEYWORDS: [&str; 5] = ["anyOf", "oneOf", "allOf", "prefixItems", "items"];
const SCHEMA_MAP_KEYWORDS: [&str; 5] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// Returns the refused parts of an argument schema, each with its JSON pointer and the providers.
pub(crate) fn refused_keywords(schema: &Map<String, Value>) -> Vec<String> {
    let mut problems = Vec::new();
    for (keyword, who) in TOP_LEVEL_KEYWORDS {
        if schema.contains_key(keyword) {
            problems.push(format!("'{keyword}' at the top is refused by {who}"));
        }
    }
    walk(schema, "", &mut problems);
    let more = problems.len().saturating_sub(MAX_FOUND);
    problems.truncate(MAX_FOUND);
    problems.extend((more > 0).then(|| format!("and {more} more")));
    problems
}

fn walk(schema: &Map<String, Value>, place: &str, problems: &mut Vec<String>) {
    let here = if place.is_empty() { "/" } else { place };
    if schema.contains_key("$ref") {
        problems.push(format!("{here}: '$ref' is refused by Gemini; write the schema out"));
    }
    if schema.get("type").is_some_and(Value::is_array) {
        problems.push(format!("{here}: a list of types is refused by Gemini; name one"));
    }
    for (keyword, value) in schema {
        let below = format!("{place}/{}", step(keyword));
        match value {
            Value::Array(schemas) if SCHEMA_LIST_KEYWORDS.contains(&keyword.as_str()) => {
                schemas
                    .iter()
                    .enumerate()
                    .for_each(|(at, subschema)| visit(subschema, &format!("{below}/{at}"), problems));
            }
            Value::Object(schemas) if SCHEMA_MAP_KEYWORDS.contains(&keyword.as_str()) => {
                schemas.iter().for_each(|(name, subschema)| {
                    visit(subschema, &format!("{below}/{}", step(name)), problems)
                });
            }
            subschema if SCHEMA_KEYWORDS.contains(&keyword.as_str()) => visit(subschema, &below, problems),
            // All providers accept true and false here.
            Value::Object(subschema) if keyword == "additionalProperties" => {
                walk(subschema, &below, problems)
            }
            _ => {}
        }
    }
}

fn visit(schema: &Value, place: &str, problems: &mut Vec<String>) {
    match schema {
        Value::Object(schema) => walk(schema, place, problems),
        Value::Bool(bare) => {
            problems.push(format!(
                "{place}: a bare {bare} is refused by OpenAI and Gemini; write a schema with a type"
            ));
        }
        _ => {}
    }
}

/// Formats a name as a step of a JSON pointer, shortened for messages.
fn step(name: &str) -> String {
    gatehouse_core::names::quoted(&name.replace('~', "~0").replace('/', "~1"), 64)
}

/// Returns the reason that providers refuse a tool name. `None` if all accept it.
pub(crate) fn refused_name(name: &str) -> Option<String> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let short = (1..=MAX_NAME).contains(&name.len());
    (!short || !name.chars().all(letters)).then(|| {
        format!(
            "the name '{name}' is refused by Anthropic, OpenAI and Gemini, which accept at most {MAX_NAME} of A-Z \
            a-z 0-9 _ -"
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(schema: Value) -> Vec<String> {
        let Value::Object(schema) = schema else { unreachable!("an object") };
        refused_keywords(&schema)
    }

    #[test]
    fn findings_name_the_location_and_the_providers() {
        let problems = found(json!({"type": "object", "anyOf": [{"required": ["a"]}], "properties": {
            "a": true, "b": {"type": ["string", "null"]}, "c/d": {"$ref": "#/$defs/x"},
            "e": {"type": "array", "items": {"anyOf": [false]}}}, "$defs": {"x": {"type": "string"}}}));
        assert_eq!(
            problems,
            [
                "'anyOf' at the top is refused by Anthropic and OpenAI",
                "/properties/a: a bare true is refused by OpenAI and Gemini; write a schema with a type",
                "/properties/b: a list of types is refused by Gemini; name one",
                "/properties/c~1d: '$ref' is refused by Gemini; write the schema out",
                "/properties/e/items/anyOf/0: a bare false is refused by OpenAI and Gemini; write a schema with a type",
            ]
        );
    }

    #[test]
    fn accepted_schemas_have_no_findings() {
        let plain = json!({"type": "object", "additionalProperties": false, "required": ["type"], "properties": {
            "type": {"type": "string", "enum": ["a", true]}, "$ref": {"type": "string", "default": {"$ref": "x"}},
            "one": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "map": {"type": "object", "additionalProperties": {"type": "string"}}}});
        assert_eq!(found(plain), [""; 0]);
        let many: Map<String, Value> = (0..20).map(|n| (n.to_string(), json!(true))).collect();
        let problems = found(json!({"type": "object", "properties": many}));
        assert_eq!((problems.len(), problems[MAX_FOUND].as_str()), (MAX_FOUND + 1, "and 12 more"));
    }

    #[test]
    fn names_that_some_provider_refuses_are_known() {
        assert_eq!(refused_name(&"x".repeat(64)), None);
        assert_eq!(refused_name("a_b-C9"), None);
        for bad in ["wiki.search", &"x".repeat(65)] {
            assert!(refused_name(bad).is_some_and(|reason| reason.contains(bad)));
        }
    }
}

//! Fuzz targets of this crate, for its tests and for cargo-fuzz.

use serde_json::Value;

use crate::{Schema, json, schema::StepBudget};

/// Splices artifact references in arguments.
pub fn arguments(input: &[u8]) {
    crate::pipeline::fuzz_arguments(input);
}

/// Reads a schema and validates a value: `{"schema": …, "value": …}`.
pub fn schema(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(Value::Object(mut both)) = json::parse(text) else { return };
    let value = both.shift_remove("value").unwrap_or_default();
    let Some(Value::Object(schema)) = both.shift_remove("schema") else { return };
    if Schema::measure(&schema).is_ok() {
        let _ =
            Schema::new(schema.into()).check_with_budget(&value, "argument", &mut StepBudget::new_short());
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_mutate::Target;

    use super::*;

    #[test]
    fn any_arguments_are_spliced_or_refused() {
        const TARGET: Target = Target {
            name: "arguments",
            seeds: &[
                br#"{"text": {"$artifact": "art-1"}, "n": [1, {"$artifact": "art-2", "range": [1, 2]}]}"#,
                br#"{"a": {"$artifact": "art-1", "pointer": "/items/1/a~1b", "as": "text"}}"#,
                br#"{"a": {"$artifact": "art-1", "range": [1, 1], "as": "json"}, "b": "\u00e9"}"#,
            ],
            words: &[
                "$artifact",
                "\"pointer\"",
                "\"range\"",
                "\"as\"",
                "[",
                "{\"a\":",
                "~0",
                "~1",
                "/",
                "art-",
            ],
            run: arguments,
        };
        TARGET.test();
    }

    #[test]
    fn any_schema_is_weighed_or_refused() {
        const TARGET: Target = Target {
            name: "schema",
            seeds: &[
                br##"{"schema": {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type":
                ["integer", "null"], "minimum": 1e3}}, "additionalProperties": false}, "value": {"a": 7}}"##,
                br#"{"schema": {"items": {"pattern": "^(a|b)*c{2,9}$"}, "uniqueItems": true}, "value": ["abcc", "x"]}"#,
                br#"{"schema": {"anyOf": [{"const": 1}, {"not": {"enum": [[], {}]}}], "unevaluatedProperties": false,
                "if": {"required": ["x"]}, "then": {"multipleOf": 0.1}, "dependentSchemas": {"x": true}}, "value": {"x": 1}}"#,
                br##"{"schema": {"$id": "https://a/b", "$anchor": "c", "$dynamicAnchor": "d", "allOf": [{"$ref":
                "#c"}, {"$dynamicRef": "#d"}], "prefixItems": [true], "contains": {"maxLength": 2}}, "value": [1]}"##,
            ],
            words: &[
                "\"$ref\"", "\"#\"", "#/%24defs/", "\"$id\"", "\"$anchor\"", "\"allOf\":[", "{\"not\":", "\"pattern\"",
                "[ab]*a[ab]{900}", "\\\\p{L}", "(?=", "\"items\":{", "\"properties\":{", "true", "null", "\"type\"",
            ],
            run: schema,
        };
        TARGET.test();
    }
}

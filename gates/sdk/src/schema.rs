//! JSON Schemas for arguments, replies and parameters, generated from Rust types and simplified.
//!
//! Agents pay for schema bytes in each conversation, and some clients support only simple keywords. Schemas therefore
//! use draft 2020-12 with everything inlined and without `$schema`, `title` and number formats. Optional fields may be
//! omitted but not null, and objects reject unknown fields. Recursive types are not supported, because they cannot be
//! inlined.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::{Map, Value};

/// Returns the schema of data that a caller sends.
pub(crate) fn for_arguments<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// Returns the schema of data that a tool sends.
pub(crate) fn for_reply<T: JsonSchema>() -> Value {
    generate::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn generate<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
        s.untagged_enum_variant_titles = false;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    simplify(&mut schema);
    let mut schema = schema.to_value();
    if let Value::Object(root) = &mut schema {
        root.remove("description"); // The tool's own description is better for callers than the Rust type's.
        // A type without fields has no `properties`, but must still be a closed object.
        let untyped = !root.keys().any(|key| ["anyOf", "oneOf", "allOf", "enum", "const"].contains(&&**key));
        if untyped {
            root.entry("type").or_insert_with(|| "object".into());
        }
        if root.get("type").is_some_and(|kind| kind == "object") {
            root.entry("additionalProperties").or_insert(Value::Bool(false));
        }
    }
    schema
}

/// Sets the default of `property`. Ignores unknown properties.
pub(crate) fn set_default(schema: &mut Value, property: &str, default: Value) {
    let pointer = schema.get_mut("properties").and_then(|p| p.get_mut(property));
    if let Some(Value::Object(schema)) = pointer {
        schema.insert("default".into(), default);
    }
}

fn simplify(schema: &mut Schema) {
    let Some(map) = schema.as_object_mut() else { return };
    drop_noise(map);
    drop_null(map);
    transform_subschemas(&mut simplify, schema);
    if schema.get("properties").is_some() && schema.get("additionalProperties").is_none() {
        schema.insert("additionalProperties".into(), Value::Bool(false));
    }
}

fn drop_noise(map: &mut Map<String, Value>) {
    for key in ["$schema", "title"] {
        map.remove(key);
    }
    let number_format = |f: &str| ["int", "uint", "float", "double"].iter().any(|p| f.starts_with(p));
    if map.get("format").and_then(Value::as_str).is_some_and(number_format) {
        map.remove("format");
    }
    let empty = |v: &Value| v.is_null() || v.as_array().is_some_and(Vec::is_empty);
    if map.get("default").is_some_and(empty) {
        map.remove("default");
    }
    // Join the line breaks of doc comments.
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

/// Removes `null` from the types of a value.
fn drop_null(map: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    let Some(Value::Array(any)) = map.get_mut("anyOf") else { return };
    any.retain(|s| s.get("type").is_none_or(|t| t != "null"));
    if let [_] = any.as_slice() {
        let inner = any.remove(0);
        map.remove("anyOf");
        if let Value::Object(inner) = inner {
            // Keywords of the field take precedence over those of its type.
            inner.into_iter().for_each(|(k, v)| {
                map.entry(k).or_insert(v);
            });
            drop_noise(map);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    /// Omitted from the schema.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Args {
        /// What to look for.
        title: String,
        #[serde(default)]
        limit: Option<u32>,
        #[serde(default)]
        tags: Vec<String>,
        #[serde(default)]
        kind: Option<Kind>,
        inner: Option<Inner>,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        A,
        B,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Inner {
        share: f64,
    }

    #[test]
    fn schema_is_plain() {
        let expected = serde_json::json!({
            "type": "object",
            "properties": {
                "title": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer", "minimum": 0},
                "tags": {"type": "array", "items": {"type": "string"}},
                "kind": {"type": "string", "enum": ["a", "b"]},
                "inner": {
                    "type": "object",
                    "properties": {"share": {"type": "number"}},
                    "required": ["share"],
                    "additionalProperties": false
                }
            },
            "required": ["title"],
            "additionalProperties": false
        });
        assert_eq!(for_arguments::<Args>(), expected);
        assert_eq!(for_arguments::<Args>().to_string(), for_arguments::<Args>().to_string());
    }

    #[test]
    fn defaults_can_be_set() {
        let mut schema = for_arguments::<Args>();
        set_default(&mut schema, "limit", 5.into());
        set_default(&mut schema, "no_such", 5.into());
        assert_eq!(schema["properties"]["limit"]["default"], 5);
        assert!(schema["properties"].get("no_such").is_none());
    }
}

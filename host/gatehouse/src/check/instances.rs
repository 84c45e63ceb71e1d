//! Values that match a JSON Schema and are likely to break a tool: minimal, maximal and unusual ones.
//!
//! Every value is checked against the schema, so an unsupported keyword reduces coverage but never yields an invalid
//! value.

mod leaves;

use std::sync::Arc;

use gatehouse_core::schema::Schema;
use serde_json::{Map, Value};

const MAX_INSTANCES: usize = 96;

/// Real schemas are not nested this deeply.
const MAX_DEPTH: usize = 8;

/// Arguments of a call, with a description for reports.
#[derive(Debug)]
pub(super) struct SchemaInstance {
    pub(super) label: String,
    pub(super) value: Value,
}

/// Generates instances of an object schema, plain ones first. The result is empty if no valid one is found.
pub(super) fn generate(schema: &Arc<Map<String, Value>>) -> Vec<SchemaInstance> {
    let root = Value::Object((**schema).clone());
    let judge = Schema::new(Arc::clone(schema));
    let generator = ValueGenerator { root: &root };
    let full_value = generator.value(&root, OptionalProperties::Included, 0);
    let mut candidates = vec![
        SchemaInstance {
            label: "with only required arguments".into(),
            value: generator.value(&root, OptionalProperties::Omitted, 0),
        },
        SchemaInstance { label: "with all arguments".into(), value: full_value.clone() },
    ];
    let mut places = Vec::new();
    generator.places(&root, &full_value, String::new(), 0, &mut places);
    for (pointer, schema) in places {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        for (label, hostile) in generator.hostile(schema) {
            let mut value = full_value.clone();
            if let Some(place) = value.pointer_mut(&pointer) {
                *place = hostile;
                candidates.push(SchemaInstance { label: format!("with '{name}' {label}"), value });
            }
        }
    }
    let mut instances: Vec<SchemaInstance> = Vec::new();
    for instance in candidates {
        let is_duplicate = instances.iter().any(|other| other.value == instance.value);
        if !is_duplicate
            && instances.len() < MAX_INSTANCES
            && judge.check(&instance.value, "argument").is_ok()
        {
            instances.push(instance);
        }
    }
    instances
}

/// Inclusion of optional properties.
#[derive(Debug, Clone, Copy, PartialEq)]
enum OptionalProperties {
    Omitted,
    Included,
}

impl OptionalProperties {
    fn are_at(self, depth: usize) -> bool {
        self == Self::Included && depth < MAX_DEPTH
    }
}

/// Generates values. `root` is the schema that references resolve in.
struct ValueGenerator<'a> {
    root: &'a Value,
}

impl<'a> ValueGenerator<'a> {
    /// Follows references, and takes the first alternative that is not null.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..MAX_DEPTH {
            let reference = schema.get("$ref").and_then(Value::as_str);
            let target = reference.and_then(|path| self.root.pointer(path.strip_prefix('#')?));
            let ways = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(*key)?.as_array());
            let way = ways.and_then(|ways| ways.iter().find(|way| way["type"] != "null"));
            match target.or(way.filter(|_| schema.get("properties").is_none())) {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    fn value(&self, schema: &'a Value, optionals: OptionalProperties, depth: usize) -> Value {
        let schema = self.resolve(schema);
        if let Some(only) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
            return only.clone();
        }
        match kind(schema) {
            "object" => self.object(schema, optionals, depth),
            "array" => self.array(schema, optionals, depth),
            "integer" | "number" => leaves::number(schema),
            "boolean" => Value::Bool(optionals == OptionalProperties::Included),
            "null" => Value::Null,
            _ => leaves::string(schema, optionals == OptionalProperties::Included),
        }
    }

    fn object(&self, schema: &'a Value, optionals: OptionalProperties, depth: usize) -> Value {
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut object = Map::new();
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if required.contains(&name.as_str()) || optionals.are_at(depth) {
                object.insert(name.clone(), self.value(member, optionals, depth + 1));
            }
        }
        let additional_schema = schema.get("additionalProperties").filter(|schema| schema.is_object());
        if let Some(additional_schema) = additional_schema.filter(|_| optionals.are_at(depth)) {
            object.insert("a key of its own".into(), self.value(additional_schema, optionals, depth + 1));
        }
        Value::Object(object)
    }

    fn array(&self, schema: &'a Value, optionals: OptionalProperties, depth: usize) -> Value {
        let min_items = schema["minItems"].as_u64().unwrap_or(0);
        let target_count = min_items.max(u64::from(optionals.are_at(depth)));
        let count = target_count.min(schema["maxItems"].as_u64().unwrap_or(u64::MAX)).min(1_000);
        let item =
            schema.get("items").map_or(Value::Bool(true), |items| self.value(items, optionals, depth + 1));
        Value::Array(vec![item; count as usize])
    }

    /// Collects every JSON pointer in `value` that can be replaced, with its schema.
    fn places(
        &self,
        schema: &'a Value,
        value: &Value,
        at: String,
        depth: usize,
        into: &mut Vec<(String, &'a Value)>,
    ) {
        let schema = self.resolve(schema);
        if depth > 0 {
            into.push((at.clone(), schema));
        }
        match value {
            Value::Object(members) => {
                for (name, part) in members {
                    let member_schema =
                        schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
                    let step = name.replace('~', "~0").replace('/', "~1");
                    if let Some(member_schema) = member_schema {
                        self.places(member_schema, part, format!("{at}/{step}"), depth + 1, into);
                    }
                }
            }
            Value::Array(items) => {
                if let (Some(first), Some(item_schema)) = (items.first(), schema.get("items")) {
                    self.places(item_schema, first, format!("{at}/0"), depth + 1, into);
                }
            }
            _ => {}
        }
    }

    fn hostile(&self, schema: &'a Value) -> Vec<(String, Value)> {
        let choices = schema["enum"].as_array().into_iter().flatten().take(16);
        let mut hostile: Vec<(String, Value)> =
            choices.map(|choice| (format!("as {choice}"), choice.clone())).collect();
        if !hostile.is_empty() {
            return hostile;
        }
        match kind(schema) {
            "array" => {
                hostile.push(("empty".into(), Value::Array(vec![])));
                if let Some(items) = schema.get("items") {
                    let max_items = schema["maxItems"].as_u64().unwrap_or(1_000).min(1_000);
                    let item = self.value(items, OptionalProperties::Included, MAX_DEPTH);
                    hostile.push((
                        format!("of {max_items} items"),
                        Value::Array(vec![item; max_items as usize]),
                    ));
                }
            }
            "object" => hostile.push(("empty".into(), Value::Object(Map::new()))),
            "integer" | "number" => hostile.extend(leaves::hostile_numbers(schema)),
            "boolean" => hostile.extend([true, false].map(|b| (format!("as {b}"), Value::Bool(b)))),
            "string" => hostile.extend(leaves::hostile_strings(schema)),
            _ => {}
        }
        if schema["type"].as_array().is_some_and(|kinds| kinds.contains(&"null".into())) {
            hostile.push(("null".into(), Value::Null));
        }
        hostile
    }
}

/// Returns the first type that a schema allows and that is not null.
fn kind(schema: &Value) -> &str {
    let named = match &schema["type"] {
        Value::String(one) => Some(one.as_str()),
        Value::Array(many) => many.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => None,
    };
    named.unwrap_or(if schema.get("properties").is_some() {
        "object"
    } else if schema.get("items").is_some() {
        "array"
    } else {
        "string"
    })
}

#[cfg(test)]
mod tests;

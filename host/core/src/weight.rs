//! What it may cost to check a value against a schema, found out before the schema is used. A gate
//! writes its schemas itself, and forty lines of references can ask for a million million comparisons.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// The most nodes a schema may have with every reference replaced by what it refers to.
const MAX_WEIGHT: u64 = 20_000;

/// The weight of a schema, if it is bounded. References must be local (`#/$defs/…`) and must not lead in a
/// circle; the error says which does.
pub(crate) fn check(schema: &Map<String, Value>) -> Result<u64, String> {
    let root = Value::Object(schema.clone());
    let weight = Scale { root: &root, known: HashMap::new() }.weigh(&root, 0)?;
    if weight > MAX_WEIGHT {
        Err(format!("is too large: {weight} nodes, the most is {MAX_WEIGHT}"))
    } else {
        Ok(weight)
    }
}

/// The most patterns a schema may have; each is compiled to code of up to a quarter of a megabyte.
const MAX_PATTERNS: u64 = 64;

/// How many patterns a schema has, if they are not too many.
pub(crate) fn patterns(schema: &Map<String, Value>) -> Result<u64, String> {
    let count = count_patterns(schema);
    if count > MAX_PATTERNS {
        return Err(format!("has {count} patterns, the most is {MAX_PATTERNS}"));
    }
    Ok(count)
}

fn count_patterns(node: &Map<String, Value>) -> u64 {
    let own = u64::from(node.get("pattern").is_some_and(Value::is_string));
    let names = node.get("patternProperties").and_then(Value::as_object).map_or(0, |map| map.len() as u64);
    own + names + node.values().map(patterns_within).sum::<u64>()
}

fn patterns_within(value: &Value) -> u64 {
    match value {
        Value::Object(node) => count_patterns(node),
        Value::Array(items) => items.iter().map(patterns_within).sum(),
        _ => 0,
    }
}

struct Scale<'a> {
    root: &'a Value,
    /// Weight of what a reference leads to; none while it is being weighed.
    known: HashMap<&'a str, Option<u64>>,
}

impl<'a> Scale<'a> {
    fn weigh(&mut self, node: &'a Value, depth: u32) -> Result<u64, String> {
        if depth > 64 {
            return Err("is nested more than 64 levels deep".into());
        }
        let mut weight: u64 = 1;
        match node {
            Value::Object(members) => {
                for (key, value) in members {
                    let part = match (key.as_str(), value) {
                        ("$ref", Value::String(target)) => self.follow(target)?,
                        ("$dynamicRef" | "$recursiveRef", _) => return Err(format!("uses {key}")),
                        // Below the root it would give "#/…" another meaning than the one weighed here.
                        ("$id", Value::String(_)) if depth > 0 => return Err("uses $id within".into()),
                        // What is only referred to weighs where it is used.
                        ("$defs" | "definitions", _) if depth == 0 => 0,
                        _ => self.weigh(value, depth + 1)?,
                    };
                    weight = weight.saturating_add(part);
                }
            }
            Value::Array(items) => {
                for item in items {
                    weight = weight.saturating_add(self.weigh(item, depth + 1)?);
                }
            }
            _ => {}
        }
        Ok(weight)
    }

    fn follow(&mut self, target: &'a str) -> Result<u64, String> {
        match self.known.get(target) {
            Some(Some(weight)) => return Ok(*weight),
            Some(None) => {
                return Err(format!("refers to itself through '{}'", crate::names::quoted(target, 80)));
            }
            None => {}
        }
        let found = target.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let Some(found) = found else {
            return Err(format!(
                "refers to '{}', which is not a part of it",
                crate::names::quoted(target, 80)
            ));
        };
        self.known.insert(target, None);
        let weight = self.weigh(found, 1)?;
        self.known.insert(target, Some(weight));
        Ok(weight)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn weighed(schema: Value) -> Result<(), String> {
        check(schema.as_object().expect("an object")).map(drop)
    }

    #[test]
    fn references_that_multiply_are_refused() {
        let mut defs = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
            defs.insert(format!("a{level}"), json!({"allOf": [next, next]}));
        }
        defs.insert("a40".into(), json!({"type": "string"}));
        let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": defs});
        assert!(weighed(schema).expect_err("2^40 nodes").contains("too large"));
    }

    #[test]
    fn a_schema_within_a_schema_cannot_hide_its_weight() {
        let heavy = json!({"$id": "https://example.org/inner", "$ref": "#/$defs/a",
                           "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}]}, "b": {}}});
        let schema = json!({"type": "object", "properties": {"x": heavy}, "$defs": {"a": {}, "b": {}}});
        assert!(weighed(schema).expect_err("an inner schema").contains("$id"));
        assert_eq!(weighed(json!({"$id": "https://example.org/s", "type": "object"})), Ok(()));
    }

    #[test]
    fn circles_and_far_references_are_refused_and_plain_ones_pass() {
        let circle = json!({"type": "object", "properties": {"x": {"$ref": "#"}}});
        assert!(weighed(circle).expect_err("a circle").contains("refers to itself"));
        let far = json!({"type": "object", "properties": {"x": {"$ref": "https://example.org/schema"}}});
        assert!(weighed(far).expect_err("not local").contains("not a part of it"));
        let plain = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/s"}, "y": {"$ref": "#/$defs/s"}},
                           "$defs": {"s": {"type": "string"}}});
        assert_eq!(weighed(plain), Ok(()));
    }
}

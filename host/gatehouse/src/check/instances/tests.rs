//! Tests that instances match their schemas and cover them.

use serde_json::json;

use super::*;

fn made(schema: Value) -> Vec<SchemaInstance> {
    generate(&Arc::new(schema.as_object().cloned().expect("an object")))
}

fn has(instances: &[SchemaInstance], value: Value) -> bool {
    instances.iter().any(|instance| instance.value == value)
}

#[test]
fn the_least_and_the_most_come_first() {
    let instances = made(json!({
        "type": "object", "required": ["query"], "additionalProperties": false,
        "properties": {"query": {"type": "string"}, "top_k": {"type": "integer", "minimum": 1}},
    }));
    assert_eq!(instances[0].value, json!({"query": ""}));
    assert_eq!(instances[1].value, json!({"query": "an example", "top_k": 1}));
    assert!(instances.len() > 10);
    assert!(instances.iter().any(|i| i.value["query"].as_str().is_some_and(|q| q.len() == 100_000)));
    assert!(instances.iter().any(|i| i.value["query"].as_str().is_some_and(|q| q.contains('\0'))));
    assert!(instances.iter().any(|i| i.value["top_k"] == json!(1e30)));
    assert!(instances.iter().all(|i| i.value["top_k"] != json!(0)), "the schema forbids it");
}

#[test]
fn a_tool_without_arguments_is_called_once() {
    let instances = made(json!({"type": "object", "additionalProperties": false}));
    assert_eq!(instances.len(), 1);
    assert_eq!(instances[0].value, json!({}));
}

#[test]
fn every_choice_is_made() {
    let choice =
        json!({"type": "object", "properties": {"kind": {"enum": ["a", "b", 3]}, "on": {"type": "boolean"}}});
    let instances = made(choice);
    for value in
        [json!({"kind": "b", "on": true}), json!({"kind": 3, "on": true}), json!({"kind": "a", "on": false})]
    {
        assert!(has(&instances, value.clone()), "{value}");
    }
}

#[test]
fn bounds_are_reached_and_not_crossed() {
    let instances = made(json!({"type": "object", "required": ["n", "s"], "properties": {
        "n": {"type": "integer", "minimum": 3, "exclusiveMaximum": 7},
        "s": {"type": "string", "minLength": 2, "maxLength": 5}}}));
    assert!(has(&instances, json!({"n": 3, "s": "an ex"})) && has(&instances, json!({"n": 6, "s": "an ex"})));
    assert_eq!(instances[0].value, json!({"n": 3, "s": "aa"}));
    for instance in &instances {
        let (n, s) =
            (instance.value["n"].as_i64().expect("a number"), instance.value["s"].as_str().expect("text"));
        assert!((3..7).contains(&n) && (2..=5).contains(&s.chars().count()), "{instance:?}");
    }
}

#[test]
fn nested_values_are_generated() {
    let instances = made(json!({
        "type": "object", "required": ["updates"],
        "properties": {"updates": {"$ref": "#/$defs/Updates"}, "pages": {"type": "array", "items": {"type": "object",
            "required": ["title"], "properties": {"title": {"anyOf": [{"type": "null"}, {"type": "string"}]}}}}},
        "$defs": {"Updates": {"type": "object", "properties": {"overview": {"type": ["null", "string"]}}}},
    }));
    let full = json!({"updates": {"overview": "an example"}, "pages": [{"title": "an example"}]});
    assert_eq!(instances[1].value, full);
    assert!(has(&instances, json!({"updates": {"overview": null}, "pages": [{"title": "an example"}]})));
    assert!(has(&instances, json!({"updates": {"overview": "an example"}, "pages": []})));
    assert!(has(&instances, json!({"updates": {"overview": "an example"}, "pages": [{"title": "   "}]})));
    assert!(instances.iter().any(|i| i.value["pages"].as_array().is_some_and(|pages| pages.len() == 1_000)));
}

#[test]
fn a_pattern_is_met_where_it_is_a_common_one() {
    let date = json!({"type": "object", "required": ["day"], "properties": {
        "day": {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}}});
    assert_eq!(made(date)[0].value, json!({"day": "2026-01-31"}));
    let odd = json!({"type": "object", "required": ["x"], "properties": {"x": {"type": "string", "pattern": "^zq{7}$"}}});
    assert!(made(odd).is_empty(), "no wrong one is made");
}

//! Tests of schemas of servers, which may have parts that cannot be read.

use serde_json::json;

use super::*;

#[test]
fn a_server_s_schema_is_checked_as_far_as_it_can_be_read() {
    let node = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}});
    let many: Map<String, Value> =
        (0..70).map(|n| (n.to_string(), json!({"pattern": format!("^{n}$")}))).collect();
    let deep = (0..100).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
    let cases = [
        (
            json!({"v": {"$ref": "#/$defs/node"}}),
            json!({"name": "x", "children": [{}]}),
            json!({}),
            "refers to itself through '#/$defs/node' (at '$defs.node.properties.children.items')",
        ),
        (
            json!({"v": {"type": "object", "properties": {"in": {"$ref": "#"}}}}),
            json!({"in": 5}),
            json!(5),
            "refers to itself through '#'",
        ),
        (
            json!({"v": {"$id": "https://kelp.example/v", "type": "string", "not": {"$ref": "#/x"}}}),
            json!("x"),
            json!(5),
            "uses $id in a subschema",
        ),
        (
            json!({"v": {"type": "integer", "allOf": [{"$ref": "#kelp"}]}}),
            json!(5),
            json!("x"),
            "has an invalid reference '#kelp'",
        ),
        (json!({"v": {"type": "integer", "$dynamicRef": "#T"}}), json!(5), json!("x"), "uses $dynamicRef"),
        (
            json!({"v": {"$ref": "#/$defs/a%25b", "type": "integer"}}),
            json!(5),
            json!("x"),
            "percent-encoding is not supported",
        ),
        (
            json!({"v": {"type": "string", "maxLength": 3, "pattern": "^(?!a)"}}),
            json!("abc"),
            json!("abcd"),
            "uses look-around",
        ),
        (
            json!({"v": {"type": "string", "pattern": "^[\\w-.]+$"}}),
            json!("/"),
            json!(5),
            "is not a regular expression",
        ),
        (
            json!({"v": {"type": "number", "minimum": 5, "exclusiveMinimum": true}}),
            json!(6),
            json!(4),
            "has a boolean instead of a number",
        ),
        (json!({"v": {"type": "any"}}), json!([]), Value::Null, "has the unknown type 'any'"),
        (
            json!({"v": {"type": "string", "description": null}}),
            json!("x"),
            json!(5),
            "has null instead of a string",
        ),
        (
            json!({"v": {"properties": many}}),
            json!({"1": "1", "69": "1"}),
            json!({"1": "2"}),
            "has more than 64 patterns",
        ),
        (json!({"v": deep}), json!([[["x"]]]), Value::Null, "is nested more than 64 levels deep"),
    ];
    for (properties, accepted, refused, reason) in cases {
        let mut source = json!({"type": "object", "properties": properties, "$defs": {"a%b": {}}});
        if reason.contains("$defs/node") {
            source["$defs"]["node"] = node.clone();
        }
        let skipped = Schema::unreadable_part(source.as_object().expect("an object"));
        let skipped = skipped.expect("a reason").to_string();
        assert!(skipped.contains(reason), "{skipped}");
        let schema = Schema::of_server(Arc::new(source.as_object().cloned().expect("an object")));
        assert_eq!(schema.check(&json!({"v": accepted}), "argument"), Ok(()), "{reason}");
        if !refused.is_null() {
            assert!(schema.check(&json!({"v": refused}), "argument").is_err(), "{reason}");
        }
        assert!(Schema::measure(schema.source()).is_err(), "gates stay strict: {reason}");
    }
}

#[test]
fn a_required_argument_with_a_default_is_optional_for_servers_only() {
    let source = json!({"type": "object", "required": ["type", "scale"], "properties": {
        "type": {"type": "string"}, "scale": {"type": "string", "default": "css"}}});
    let source = Arc::new(source.as_object().cloned().expect("an object"));
    let (server, gate) = (Schema::of_server(Arc::clone(&source)), Schema::new(source));
    assert_eq!(server.check(&json!({"type": "png"}), "argument"), Ok(()));
    assert!(server.check(&json!({"scale": "css"}), "argument").is_err());
    assert!(gate.check(&json!({"type": "png"}), "argument").is_err());
}

#[test]
fn costly_patterns_of_a_server_are_tried_only_so_often() {
    let properties: Map<String, Value> =
        (0..2_000).map(|n| (n.to_string(), json!({"pattern": format!("\\p{{L}}{{500}}{n}")}))).collect();
    let source = json!({"type": "object", "properties": properties});
    let mut reader = read::SchemaReader::new(source.as_object().expect("an object"), true);
    assert!(reader.unless_skipped(|reader| reader.schema(&source)).is_ok_and(|id| id.is_some()));
    assert_eq!(reader.tried_patterns(), 64);
}

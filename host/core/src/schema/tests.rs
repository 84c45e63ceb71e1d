//! What a schema refuses, and in which words.

use serde_json::json;

use super::*;

fn schema() -> Schema {
    let value = json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["query"],
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 10},
            "top_k": {"type": "integer", "minimum": 1, "default": 5},
            "page_types": {"type": "array", "items": {"enum": ["Workflow", "Principle"]}},
            "rows": {"type": "array", "items": {"additionalProperties": false, "properties": {"title": {}}}},
            "updates": {"type": "object", "additionalProperties": false, "properties": {"overview": {"type": "string"}}},
        },
    });
    Schema::new(Arc::new(value.as_object().cloned().unwrap_or_default()))
}

#[test]
fn every_mistake_is_named_with_the_next_step() {
    let wrong = |value: Value| schema().check(&value, "argument").expect_err("must be refused");
    assert_eq!(wrong(json!({"qurey": "x"})), "unknown argument 'qurey'. Did you mean 'query'?");
    assert_eq!(wrong(json!({})), "missing required argument 'query'.");
    assert_eq!(wrong(json!({"query": 5})), "'query' must be a string, got a number.");
    assert_eq!(wrong(json!({"query": "x", "top_k": 0})), "'top_k' must be at least 1, got 0.");
    assert_eq!(wrong(json!({"query": "x", "top_k": 1.5})), "'top_k' must be an integer, got a number.");
    assert_eq!(
        wrong(json!({"query": "x", "page_types": ["Princple"]})),
        "'page_types.0' must be one of Workflow, Principle, got 'Princple'. Did you mean 'Principle'?"
    );
    assert_eq!(
        wrong(json!({"query": "x", "updates": {"overvew": ""}})),
        "unknown argument 'overvew' in 'updates'. Did you mean 'overview'?"
    );
    assert_eq!(
        wrong(json!({"query": "x", "rows": [{"title": 1}, {"titel": 2}]})),
        "unknown argument 'titel' in 'rows.1'. Did you mean 'title'?"
    );
    assert_eq!(wrong(json!({"query": ""})), "'query' must have at least 1 character.");
    assert_eq!(wrong(json!([1])), "the arguments must be an object, got an array.");
}

#[test]
fn a_megabyte_is_refused_in_a_line() {
    let message = schema().check(&json!({"query": "x".repeat(1 << 20)}), "argument").expect_err("too long");
    assert_eq!(message, "'query' must have at most 10 characters, got 1048576.");
}

#[test]
fn a_check_that_would_take_for_ever_is_refused() {
    let all: Vec<Value> = (0..1_000).map(|n| json!({"minimum": -n})).collect();
    let heavy = json!({"type": "object", "properties": {"x": {"items": {"allOf": all}}}});
    let heavy = Schema::new(Arc::new(heavy.as_object().cloned().unwrap_or_default()));
    assert_eq!(heavy.check(&json!({"x": [1, 2]}), "member"), Ok(()));
    let why = heavy.check(&json!({"x": vec![0; 100_000]}), "member").expect_err("too much");
    assert!(why.contains("too many to check"), "{why}");
}

#[test]
fn defaults_fill_only_what_is_missing() {
    let filled = with_defaults(schema().source(), json!({"query": "x"}).as_object().expect("object"));
    assert_eq!(Value::Object(filled), json!({"query": "x", "top_k": 5}));
}

#[test]
fn a_broken_schema_says_so() {
    let broken = Schema::new(Arc::new(json!({"type": 5}).as_object().cloned().unwrap_or_default()));
    assert!(broken.check(&json!({}), "argument").expect_err("broken").contains("schema itself is broken"));
}

#[test]
fn patterns_that_fill_the_memory_are_refused() {
    let compiled = |schema: Value| {
        let Value::Object(schema) = schema else { unreachable!("an object") };
        Schema::new(Arc::new(schema)).compile().map_err(str::to_owned)
    };
    let with = |pattern: &str| json!({"type": "object", "properties": {"a": {"pattern": pattern}}});
    assert_eq!(compiled(with("^[a-z]{1,64}$")), Ok(()));
    assert!(compiled(with("\\p{L}{500}")).is_err(), "half a megabyte of states");
    let many: Map<String, Value> =
        (0..65).map(|n| (format!("m{n}"), json!({"pattern": format!("^{n}")}))).collect();
    let why = compiled(json!({"type": "object", "properties": many})).expect_err("refused");
    assert_eq!(why, "has 65 patterns, the most is 64");
}

#[test]
fn reading_a_long_text_with_many_patterns_is_work() {
    let Value::Object(schema) = json!({"type": "object", "properties": {"a": {"pattern": "x$"}}}) else {
        unreachable!("an object")
    };
    let schema = Schema::new(Arc::new(schema));
    let value = json!({"a": "y".repeat(1 << 20)});
    assert!(schema.work(&value) > 1 << 18, "{}", schema.work(&value));
}

//! Tests of violations and their messages, and of rejected schemas.

mod oracle;
mod readable_part;
mod suite;

use serde_json::json;

use super::*;

fn of(source: Value) -> Schema {
    let Value::Object(source) = source else { unreachable!("an object") };
    Schema::new(Arc::new(source))
}

fn refused(source: Value) -> String {
    Schema::measure(of(source).source()).expect_err("refused").to_string()
}

fn accepted(source: Value) {
    let read = Schema::measure(of(source.clone()).source());
    assert!(read.is_ok(), "{source}: {read:?}");
}

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
    let wrong = |value: Value| schema().check(&value, "argument").expect_err("must be refused").to_string();
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
    let message =
        schema().check(&json!({"query": "x".repeat(1 << 20)}), "argument").expect_err("too long").to_string();
    assert_eq!(message, "'query' must have at most 10 characters, got 1048576.");
}

#[test]
fn failed_alternatives_report_the_expected_types() {
    let schema = of(json!({"properties": {
        "size": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "way": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^x"}]},
        "not": {"not": {"type": "string"}}}}));
    let wrong = |value: Value| schema.check(&value, "argument").expect_err("must be refused").to_string();
    assert_eq!(wrong(json!({"size": "x"})), "'size' must be an integer or null, got a string.");
    assert_eq!(wrong(json!({"size": 0})), "'size' must be at least 1, got 0.");
    assert_eq!(wrong(json!({"way": "long"})), "'way' matches none of the allowed alternatives.");
    assert_eq!(
        wrong(json!({"way": "x"})),
        "'way' matches more than one of the alternatives, but only one is allowed."
    );
    assert_eq!(wrong(json!({"not": "x"})), "'not' is an excluded value.");
}

#[test]
fn a_check_that_would_take_for_ever_is_stopped() {
    let all: Vec<Value> = (0..1_000).map(|n| json!({"minimum": -n})).collect();
    let heavy = of(json!({"type": "object", "properties": {"x": {"items": {"allOf": all}}}}));
    assert_eq!(heavy.check(&json!({"x": [1, 2]}), "member"), Ok(()));
    let reason = heavy.check(&json!({"x": vec![0; 100_000]}), "member").expect_err("too much").to_string();
    assert_eq!(
        reason,
        "the members take more than 100 million steps to check against their schema; send less data."
    );
    let value = json!({"x": vec![0; 1_000]});
    assert_eq!(
        heavy.check_with_budget(&value, "member", &mut StepBudget::new_long(&|| true)),
        Err(CheckInterrupt::Abandoned.into())
    );
    let doubling =
        (0..40).fold(json!({}), |inner, _| json!({"anyOf": [inner], "unevaluatedProperties": true}));
    let nested = of(json!({"type": "object", "allOf": [doubling]}));
    let ended = nested.check_with_budget(&json!({}), "member", &mut StepBudget::new_awaited());
    assert_eq!(ended, Err(CheckInterrupt::OutOfSteps.into()), "each level asks the one below twice");
}

#[test]
fn defaults_fill_only_missing_members() {
    let filled = with_defaults(schema().source(), json!({"query": "x"}).as_object().expect("object"));
    assert_eq!(Value::Object(filled), json!({"query": "x", "top_k": 5}));
}

#[test]
fn a_broken_schema_says_so_and_where() {
    let error = of(json!({"type": 5})).check(&json!({}), "argument").expect_err("broken").to_string();
    assert_eq!(error, "the schema is invalid: it has a number instead of a JSON Schema type (at 'type').");
    for (broken, reason) in [
        (json!({"properties": 5}), "has a number instead of an object (at 'properties')"),
        (
            json!({"properties": {"a": {"type": "float"}}}),
            "has the unknown type 'float'; the types are array, boolean, integer",
        ),
        (json!({"properties": {"a": {"type": "strin"}}}), "(at 'properties.a.type')"),
        (json!({"anyOf": [true, 1]}), "has a number instead of a schema (at 'anyOf.1')"),
        (json!({"minLength": -1}), "has a number instead of a non-negative integer"),
        (json!({"multipleOf": 0}), "multipleOf that is not greater than 0"),
        (json!({"required": "a"}), "has a string instead of an array"),
        (json!({"description": 5}), "has a number instead of a string"),
        (json!({"$defs": {"unused": {"not": 7}}}), "(at '$defs.unused.not')"),
        (json!({"pattern": "("}), "not a regular expression"),
        (json!({"items": [true], "prefixItems": [true]}), "both prefixItems and a list of items"),
    ] {
        let error = refused(broken);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn ambiguous_schemas_are_refused() {
    let with =
        |inner: Value| json!({"type": "object", "properties": {"x": inner}, "$defs": {"a": {}, "%61": {}}});
    for (inner, reason) in [
        (json!({"$ref": "#/$defs/%61"}), "percent-encoding is not supported"),
        (json!({"$ref": "#/%24defs/a"}), "percent-encoding is not supported"),
        (json!({"$ref": "#a"}), "expected a JSON pointer from the root"),
        (json!({"$ref": "https://example.org/schema"}), "expected a JSON pointer from the root"),
        (json!({"$ref": "#/$defs"}), "there is no such subschema"),
        (json!({"$ref": "#/$defs/b"}), "there is no such subschema"),
        (json!({"$ref": "#/properties/x/const", "const": {}}), "there is no such subschema"),
        (json!({"$ref": "#"}), "refers to itself"),
        (json!({"$ref": "#/properties/x"}), "refers to itself"),
        (json!({"$ref": 5}), "$ref that is not a string"),
        (json!({"$id": "https://example.org/inner", "$defs": {"a": {}}}), "uses $id in a subschema"),
        (
            json!({"$schema": "http://json-schema.org/draft-04/schema#", "id": "x"}),
            "uses $schema in a subschema",
        ),
        (json!({"$anchor": 5}), "$anchor that is not a string"),
        (json!({"$anchor": "b", "allOf": [{"$ref": "#b"}]}), "expected a JSON pointer from the root"),
        (json!({"$dynamicRef": "#a"}), "uses $dynamicRef"),
        (json!({"$recursiveRef": "#"}), "uses $recursiveRef"),
    ] {
        let error = refused(with(inner));
        assert!(error.contains(reason), "{error}");
    }
    let old =
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"x": {"id": "#y"}}});
    assert!(refused(old).contains("uses id in a subschema"));
    assert!(refused(json!({"$schema": "https://example.org/mine"})).contains("unknown dialect"));
}

#[test]
fn generated_schemas_are_accepted() {
    accepted(json!({"$schema": "http://json-schema.org/draft-07/schema#", "$id": "https://example.org/s",
        "type": "object", "additionalProperties": false, "definitions": {"s": {"type": "string"}},
        "properties": {"id": {"$ref": "#/definitions/s"}, "$ref": {"type": "string"}, "$id": true,
            "$schema": {"$ref": "#/properties/id"}, "$anchor": {"enum": [{"$ref": "x"}]}, "pattern": {}}}));
    accepted(
        json!({"properties": {"x": {"$ref": "#/$defs/named"}}, "$defs": {"named": {"$anchor": "named"}}}),
    );
    let unicode = json!({"$ref": "#/$defs/Größe~1a~0b"});
    accepted(json!({"properties": {"x": unicode}, "$defs": {"Größe/a~b": {"type": "integer"}}}));
    let tuple = of(json!({"$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"pair": {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false}},
        "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}));
    assert_eq!(tuple.check(&json!({"pair": ["x", 1], "a": 1, "b": 2}), "argument"), Ok(()));
    for wrong in [json!({"pair": [1]}), json!({"pair": ["x", 1, 2]}), json!({"a": 1}), json!({"c": 1})] {
        assert!(tuple.check(&wrong, "argument").is_err(), "{wrong}");
    }
    let described = of(json!({"properties": {"x": {"$ref": "#/$defs/s", "description": "said here"}},
        "$defs": {"s": {"type": "string"}}}));
    assert!(described.check(&json!({"x": 1}), "argument").is_err());
}

#[test]
fn unused_definitions_are_counted() {
    let mut doubling = Map::new();
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        doubling.insert(format!("a{level}"), json!({"allOf": [next, next]}));
    }
    doubling.insert("a40".into(), json!({"type": "string"}));
    let schema = json!({"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": doubling});
    assert!(refused(schema).contains("too large"));

    // Each definition is sixty levels deep and ends with a reference to the next.
    let mut hidden = Map::new();
    for level in 0..73 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        hidden.insert(format!("a{level}"), (0..60).fold(next, |inner, _| json!({"not": inner})));
    }
    hidden.insert("a73".into(), json!(true));
    let mut schema = json!({"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": hidden});
    assert!(refused(schema.clone()).contains("nested more than 64 levels deep"));
    schema["properties"] = json!({});
    assert!(refused(schema).contains("nested more than 64 levels deep"), "also what nobody refers to");

    // The first path to the definition is short; the second exceeds the limit.
    let long = (0..40).fold(json!({"$ref": "#/$defs/a"}), |inner, _| json!({"not": inner}));
    let deep = (0..40).fold(json!(true), |inner, _| json!({"not": inner}));
    let schema = json!({"properties": {"x": {"$ref": "#/$defs/a"}, "y": long}, "$defs": {"a": deep}});
    assert!(refused(schema).contains("nested more than 64 levels deep"));

    let many: Map<String, Value> =
        (0..65).map(|n| (format!("m{n}"), json!({"pattern": format!("^{n}")}))).collect();
    assert!(refused(json!({"properties": many})).contains("has more than 64 patterns"));
    let wide: Vec<Value> = vec![json!(true); 20_001];
    assert!(refused(json!({"anyOf": wide})).contains("too large"));
}

#[test]
fn a_pattern_that_takes_for_ever_is_stopped() {
    let schema = of(json!({"type": "object", "properties": {"x": {"pattern": "[ab]*a[ab]{1900}c"}}}));
    assert!(
        schema
            .check(&json!({"x": "abab"}), "argument")
            .expect_err("no match")
            .to_string()
            .contains("must match the pattern")
    );
    let error =
        schema.check(&json!({"x": "ab".repeat(2 << 20)}), "argument").expect_err("stopped").to_string();
    assert!(error.contains("take more than 100 million steps"), "{error}");
}

#[test]
fn budget_ends_when_spent_or_abandoned() {
    let mut steps = StepBudget::with_steps(10, &|| false);
    assert_eq!(
        (steps.spend(7), steps.spend(3), steps.spend(1)),
        (Ok(()), Ok(()), Err(CheckInterrupt::OutOfSteps))
    );
    let mut alone = StepBudget::new_long(&|| true);
    let steps = (0..).take_while(|_| alone.spend(1).is_ok()).count() as u64;
    assert_eq!(steps, STEPS_BETWEEN_POLLS);
}

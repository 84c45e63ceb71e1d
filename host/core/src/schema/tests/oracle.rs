//! Property tests against the `jsonschema` crate: same verdicts, within the step budget.

use std::sync::Arc;

use jsonschema::{Draft, PatternOptions};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::schema::{CheckInterrupt, MAX_STEPS, Schema, StepBudget, ValidationError};

/// Generates values of few kinds, so that schemas often match.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..6).prop_map(Value::from),
        prop_oneof![Just(0.5), Just(2.0), Just(-1.5), Just(0.3)].prop_map(Value::from),
        "[abé ]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            members(inner).prop_map(Value::Object),
        ]
    })
}

fn members(of: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    let some = prop::collection::vec((prop::sample::select(vec!["a", "b", "c", "ab"]), of), 0..4);
    some.prop_map(|members| members.into_iter().map(|(name, part)| (name.to_owned(), part)).collect())
}

fn names() -> impl Strategy<Value = Value> {
    prop::collection::hash_set(prop::sample::select(vec!["a", "b", "c"]), 0..3)
        .prop_map(|names| names.into_iter().collect())
}

fn kind() -> impl Strategy<Value = Value> {
    let names = ["string", "integer", "number", "boolean", "array", "object", "null"];
    prop_oneof![
        prop::sample::select(names.to_vec()).prop_map(Value::from),
        prop::sample::subsequence(names.to_vec(), 1..3).prop_map(Value::from),
    ]
}

fn assertion() -> impl Strategy<Value = (String, Value)> {
    let number = prop_oneof![(-2_i64..4).prop_map(Value::from), Just(json!(0.5)), Just(json!(2.0))];
    let step = prop::sample::select(vec![json!(2), json!(0.5), json!(0.1), json!(1)]);
    let count = (0_u64..4).prop_map(Value::from);
    let choices = prop::collection::vec(value(), 1..4).prop_map(Value::from);
    let pattern = prop::sample::select(vec!["^a", "b$", "^[ab]{2}$", "é", "\\s", "a|b", "^$"]);
    let bounds = vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
    let counts = vec![
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "minContains",
        "maxContains",
    ];
    let named = |name: &'static str, value: Value| (name.to_owned(), value);
    prop_oneof![
        3 => kind().prop_map(move |kind| named("type", kind)),
        1 => value().prop_map(move |value| named("const", value)),
        1 => choices.prop_map(move |choices| named("enum", choices)),
        1 => (prop::sample::select(bounds), number).prop_map(move |(name, value)| named(name, value)),
        1 => step.prop_map(move |step| named("multipleOf", step)),
        3 => (prop::sample::select(counts), count).prop_map(move |(name, value)| named(name, value)),
        1 => pattern.prop_map(move |pattern| named("pattern", pattern.into())),
        1 => any::<bool>().prop_map(move |unique| named("uniqueItems", unique.into())),
        1 => names().prop_map(move |names| named("required", names)),
        1 => (prop::sample::select(vec!["a", "b"]), names())
            .prop_map(move |(name, needs)| named("dependentRequired", json!({name: needs}))),
    ]
}

fn applicator(
    inner: impl Strategy<Value = Value> + Clone + 'static,
) -> impl Strategy<Value = (String, Value)> {
    let one = vec![
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "additionalProperties",
        "items",
        "unevaluatedItems",
        "unevaluatedProperties",
    ];
    let list = prop::collection::vec(inner.clone(), 1..3).prop_map(Value::from);
    let lists = vec!["allOf", "anyOf", "oneOf", "prefixItems"];
    let maps = vec!["properties", "dependentSchemas"];
    let patterns = prop::sample::select(vec!["^a", "b", "^c$"]);
    let named = |(name, value): (&'static str, Value)| (name.to_owned(), value);
    prop_oneof![
        3 => (prop::sample::select(one), inner.clone()).prop_map(named),
        3 => (prop::sample::select(lists), list).prop_map(named),
        2 => (prop::sample::select(maps), members(inner.clone()).prop_map(Value::Object)).prop_map(named),
        1 => (patterns, inner).prop_map(|(p, inner)| ("patternProperties".to_owned(), json!({p: inner}))),
    ]
}

/// Generates schemas that may refer to a definition.
fn schema() -> impl Strategy<Value = Map<String, Value>> {
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        1 => Just(json!({"$ref": "#/$defs/d"})),
        4 => prop::collection::vec(assertion(), 0..3)
            .prop_map(|rules| Value::Object(rules.into_iter().collect())),
    ];
    let nested = leaf.prop_recursive(3, 24, 4, |inner| {
        let rules = prop_oneof![assertion().boxed(), applicator(inner).boxed()];
        prop::collection::vec(rules, 1..4).prop_map(|rules| Value::Object(rules.into_iter().collect()))
    });
    let definition = prop::collection::vec(assertion(), 0..3);
    (nested, definition).prop_map(|(root, definition)| {
        let mut root = match root {
            Value::Object(root) => root,
            bool => Map::from_iter([("allOf".to_owned(), json!([bool]))]),
        };
        root.insert("$defs".into(), json!({"d": Map::from_iter(definition)}));
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn accepted_schemas_agree_with_another_validator(source in schema(), values in prop::collection::vec(value(), 8)) {
        let elsewhere = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_pattern_options(PatternOptions::regex())
            .build(&Value::Object(source.clone()))
            .expect("a schema");
        let here = Schema::new(Arc::new(source));
        for value in values {
            let ours = here.check(&value, "member");
            prop_assert_eq!(ours.is_ok(), elsewhere.is_valid(&value), "{} {:?}", value, ours);
        }
    }

    /// A schema of a server that can be read only in part accepts all that the whole schema accepts.
    #[test]
    fn unreadable_parts_refuse_nothing(
        source in schema(),
        unreadable in prop::sample::select(vec![
            json!({"pattern": "^(?!b)"}),
            json!({"items": {"$ref": "#"}, "maxProperties": 1}),
            json!({"patternProperties": {"(?=a)": true}, "additionalProperties": false}),
            json!({"required": ["a"], "properties": {"a": {"default": 1}, "b": {"type": "string"}}}),
        ]),
        values in prop::collection::vec(value(), 8),
    ) {
        let mut source = source;
        source["$defs"]["d"] = unreadable;
        let elsewhere = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .build(&Value::Object(source.clone()))
            .expect("a schema");
        let here = Schema::of_server(Arc::new(source));
        for value in values {
            if elsewhere.is_valid(&value) {
                prop_assert_eq!(here.check(&value, "member"), Ok(()), "{}", value);
            }
        }
    }

    /// A check that needs more steps than its budget is stopped.
    #[test]
    fn a_check_ends_with_its_steps(source in schema(), value in value()) {
        let schema = Schema::new(Arc::new(source));
        let verdict = |steps| schema.check_with_budget(&value, "member", &mut StepBudget::with_steps(steps, &|| false));
        let full = verdict(MAX_STEPS);
        let mut steps = 1;
        while let Err(ValidationError::Stopped(stopped)) = verdict(steps) {
            prop_assert_eq!(stopped, CheckInterrupt::OutOfSteps);
            steps += 1 + steps / 8;
            prop_assert!(steps < 1_000_000, "a small schema and a small value");
        }
        prop_assert_eq!(verdict(steps), full);
    }

    /// Any object is parsed or rejected, without a panic.
    #[test]
    fn anything_is_read_or_refused(source in members(value()), inner in schema()) {
        let mut source = source;
        source.insert("properties".into(), Value::Object(inner));
        let _ = Schema::measure(&source);
        let _ = Schema::unreadable_part(&source);
    }
}

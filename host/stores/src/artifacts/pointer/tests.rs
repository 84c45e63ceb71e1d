//! Tests of JSON pointers.

use gatehouse_core::outcome::FaultKind;
use proptest::prelude::*;
use serde_json::Value;

use super::*;

const TEXT: &str = r#" {"items": [ {"id": 1.50, "é\n": null}, [], {} ,"x"],
    "a/b": {"m~n": -0E+2, "": true}, "k": {"gone": 1}, "k": {"b":2,  "a":12345678901234567890123} } "#;

fn at(pointer: &str) -> Result<&'static str, String> {
    find(TEXT, pointer).map(|range| &TEXT[range]).map_err(|fault| fault.message)
}

#[test]
fn values_are_given_as_they_stand() {
    assert_eq!(at(""), Ok(TEXT.trim()));
    assert_eq!(at("/items/0/id"), Ok("1.50"));
    assert_eq!(at("/items/0/é\n"), Ok("null"));
    assert_eq!((at("/items/1"), at("/items/2"), at("/items/3")), (Ok("[]"), Ok("{}"), Ok("\"x\"")));
    assert_eq!((at("/a~1b/m~0n"), at("/a~1b/")), (Ok("-0E+2"), Ok("true")));
    assert_eq!(at("/k/a"), Ok("12345678901234567890123"));
    assert_eq!(at("/k"), Ok(r#"{"b":2,  "a":12345678901234567890123}"#));
}

#[test]
fn a_missing_value_is_reported_with_the_depth_reached() {
    for (pointer, expected) in [
        ("/nope/x", "the whole value is an object with the keys 'items', 'a/b', 'k', 'k'"),
        ("/items/4", "'/items' is an array of 4 values, indexes 0 to 3"),
        ("/items/00", "'/items' is an array of 4 values, indexes 0 to 3"),
        ("/items/-", "'/items' is an array of 4 values, indexes 0 to 3"),
        ("/items/1/0", "'/items/1' is an empty array"),
        ("/items/2/x", "'/items/2' is an empty object"),
        ("/items/3/x", "'/items/3' is a string"),
        ("/a~1b/m~0n/x", "'/a~1b/m~0n' is a number"),
        ("/k/gone", "'/k' is an object with the keys 'b', 'a'"),
    ] {
        let message = at(pointer).expect_err(pointer);
        assert_eq!(message, format!("'{pointer}' not found: {expected}"));
    }
    let many: String = (0..30).map(|n| format!(r#""k{n}":1,"#)).collect();
    let fault = find(&format!("{{{}}}", many.trim_end_matches(',')), "/x").expect_err("missing");
    assert!(fault.message.ends_with("'k19' and 10 more"), "{fault}");
    assert_eq!(fault.kind, FaultKind::NotFound);
}

#[test]
fn invalid_pointers_and_invalid_json_are_rejected() {
    for (text, pointer) in
        [("{}", "items"), ("", "/a"), ("{\"a\": 1} x", "/a"), ("{'a': 1}", "/a"), ("[1,]", "/0")]
    {
        assert_eq!(find(text, pointer).expect_err(text).kind, FaultKind::InvalidArguments);
    }
}

#[test]
fn depth_costs_no_more_than_length() {
    let depth = 300_000;
    let text = format!("{}7{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(find(&text, &"/0".repeat(depth)), Ok(depth..depth + 1));
    assert_eq!(find(&text, "/0/1").expect_err("missing").kind, FaultKind::NotFound);
    let objects = format!("{}7{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
    assert_eq!(find(&objects, &"/a".repeat(depth)), Ok(depth * 5..depth * 5 + 1));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\/~ {}\\[\\],:é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec(("[a-b/~\"\\\\]{0,2}", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Collects every value with its pointer.
fn all<'v>(value: &'v Value, pointer: String, into: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(n, value)| all(value, format!("{pointer}/{n}"), into));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| all(value, format!("{pointer}/{}", escaped(key)), into))
        }
        _ => {}
    }
    into.push((pointer, value));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_value_is_found_where_it_is(value in json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        let mut values = Vec::new();
        all(&value, String::new(), &mut values);
        for (pointer, value) in values {
            let found = find(&text, &pointer).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Value>(&text[found]).unwrap(), value, "{}", pointer);
        }
    }

    #[test]
    fn any_text_and_pointer_is_answered(text in "[\\[\\]{}\",:0-9a \\\\]{0,20}", pointer in "[/~0-9a]{0,8}") {
        let _ = find(&text, &pointer);
    }
}

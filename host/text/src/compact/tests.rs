//! Checks that the compact form restores every value.

#![allow(clippy::unwrap_used)]

mod decoder;

use proptest::prelude::*;

use super::*;
use decoder::{decode, json};

fn comes_back(text: &str) -> String {
    let form = form(text).unwrap();
    assert_eq!(decode(&form), json(text), "{form}");
    assert!(!form.chars().any(|c| c != '\n' && crate::digest::value::hidden(c)), "{form}");
    form
}

#[test]
fn rows_are_told_once_and_types_can_be_told_apart() {
    let text = r##" [ {"id": 1, "n": "1", "in": "a|b", "x": null}, {"id": 2, "n": "two", "in": "", "x": "null"},
        {"id": 3.0, "n": " 3", "in": "#1", "y": [1, {"a": 2}]} ] "##;
    let form = comes_back(text);
    assert_eq!(
        form,
        "JSON, compacted without loss. `#1` means the rows under `#1:`, which start with their keys; \
         an empty cell means no key; bare words are strings.\n\
         #1\n#1: id|n|in|x|y\n1|\"1\"|\"a|b\"|null\n2|two|\"\"|\"null\"\n3.0|\" 3\"|\"#1\"||[1,{\"a\":2}]"
    );
}

#[test]
fn what_is_the_same_is_said_once() {
    let row = |n: usize| {
        format!(
            "{{\"path\": \"/usr/share/doc/p{n}\", \"by\": {{\"name\": \"root\", \"id\": {n}}}, \
             \"steps\": [{{\"do\": \"a\", \"exit\": {n}}}, {{\"do\": \"b\", \"exit\": 0}}]}}"
        )
    };
    let rows: Vec<String> = (0..4).map(row).collect();
    let form = comes_back(&format!("{{\"all\": [{}], \"n\": 4}}", rows.join(", ")));
    assert!(
        form.ends_with(
            "\n{\"all\":#1,\"n\":4}\n#1: path^=/usr/share/doc/|by.name=root|by.id|steps[do,exit]\n\
             p0|0|[[\"a\",0],[\"b\",0]]\np1|1|[[\"a\",1],[\"b\",0]]\np2|2|[[\"a\",2],[\"b\",0]]\np3|3|[[\"a\",3],[\"b\",0]]"
        ),
        "{form}"
    );
}

#[test]
fn a_map_of_objects_is_rows_with_their_keys() {
    let form = comes_back(
        r#"{"1.0": {"size": 1, "ok": true}, "1.1": {"size": 2, "ok": true}, "x": {"size": 3, "ok": true}}"#,
    );
    assert!(form.ends_with("\n#1\n#1{}: size|ok=true\n\"1.0\"|1\n\"1.1\"|2\nx|3"), "{form}");
}

#[test]
fn hostile_documents_come_back_or_are_left() {
    for text in [
        r#"[{"a": 1, "a": 2}, {"a": 3}]"#,
        r#"[{"a": 1, "\u0061": 2}, {"a": 3, "\u0061": 2}]"#,
        r#"[{"": 1, ".": 2}, {"": 3, "=": 2, ".": 5}]"#,
        r#"[{"a": "\ud800"}, {"a": "\ud800"}, {"a": "\ud800x"}]"#,
        "[{\"a\": \"x\u{202e}y\"}, {\"a\": \"\u{7f}\u{feff}\"}]",
        r#"[{}, {}, {"a": []}]"#,
        r#"[{"a": {}}, {"a": {"b": {}}}, {"a": null}]"#,
        r##"[{"k": "#1: a"}, {"k": "#1"}, {"k": "line\n#2: b"}]"##,
        r#"[{"k": ""}, {}, {"k": ""}, {}]"#,
        r#"[{"k": "aaaaaaaaa/"}, {"k": "aaaaaaaaa/1"}, {"k": "aaaaaaaaa/\\"}]"#,
        r#"[{"l": [{"a": 1}]}, {"l": []}, {}, {"l": [{"a": 1}, {"a": [2]}]}]"#,
        r#"{"a": {"b": 1}, "a": {"b": 2}}"#,
        r#"[1e400, -0, 1.50, 123456789012345678901234567890]"#,
    ] {
        comes_back(text);
    }
    let deep = format!("{}1{}", "[{\"a\":".repeat(20_000), "},{\"a\":2}]".repeat(20_000));
    assert!(form(&deep).is_some());
    let wide: Vec<String> = (0..20_000).map(|n| format!("{{\"k{n}\":1}}")).collect();
    comes_back(&format!("[{}]", wide.join(",")));
    assert_eq!(compact("no JSON at all"), None);
    assert_eq!(compact("[1,2]"), None);
    assert_eq!(compact(&format!("[{}1]", " ".repeat(MAX_COMPACT_BYTES))), None);
}

#[test]
fn tables_of_commands_and_lines_of_json_are_shorter_too() {
    let row = |n: usize| format!("me      {n:>6}   0.{n}   /usr/bin/thing --number {n}\n");
    let ps: String = (0..30).map(row).collect();
    let form = form(&format!("USER       PID  %CPU  COMMAND\n{ps}")).unwrap();
    assert!(
        form.contains("\n#1: USER=me|PID|\"%CPU\"|COMMAND^=\"/usr/bin/thing --number \"\n0|0.0|\"0\"\n"),
        "{form}"
    );
    let lines: String = (0..9).map(|n| format!("{{\"level\": \"info\", \"n\": {n}}}\n")).collect();
    let form = super::form(&lines).unwrap();
    assert!(
        form.starts_with("JSON Lines, compacted") && form.contains("\n#1: level=info|n\n0\n1\n"),
        "{form}"
    );
}

fn any_string() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,6}",
        "https://example\\.org/[a-z0-9]{0,4}",
        "[-0-9.eE|\"#\\[{}\\], \\\\\n\t]{0,6}",
        any::<String>(),
        prop::sample::select(vec!["null", "true", "1", "01", "-", "1e5", "#1", "\u{202e}", "a.b"])
            .prop_map(str::to_owned),
    ]
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Map, Value};
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any_string().prop_map(Value::from),
    ];
    let key = prop_oneof!["[a-d]", "[a-d]", any_string()];
    leaf.prop_recursive(4, 200, 8, move |inner| {
        let object = prop::collection::vec((key.clone(), inner.clone()), 0..6)
            .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()));
        let row = (prop::option::of(inner.clone()), any_string(), inner.clone(), prop::option::of(0..3));
        let rows = prop::collection::vec(row, 0..8).prop_map(|rows| {
            let row = |(a, b, c, d): (Option<Value>, String, Value, Option<i32>)| {
                let mut map = Map::new();
                a.map(|a| map.insert("a".into(), a));
                map.insert("b".into(), Value::from(b));
                map.insert("c".into(), c);
                d.map(|d| map.insert("d".into(), serde_json::json!({"x": d, "y.z": 1})));
                Value::Object(map)
            };
            Value::Array(rows.into_iter().map(row).collect())
        });
        prop_oneof![object, rows, prop::collection::vec(inner, 0..6).prop_map(Value::Array)]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_value_can_be_read_back(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        let form = form(&text).unwrap();
        prop_assert_eq!(decode(&form), json(&text), "{}", form);
    }
}

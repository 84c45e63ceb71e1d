//! Valid JSON, and the byte at which invalid JSON is rejected.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

#[test]
fn any_depth_is_read_and_an_unclosed_one_refused() {
    let deep = "[".repeat(1 << 20);
    assert_eq!(nodes(&deep).unwrap_err().at, 1 << 20);
    assert_eq!(nodes(&(deep + &"]".repeat(1 << 20))).unwrap().len(), 1 << 20);
}

#[test]
fn what_is_no_json_is_refused_at_its_place() {
    let cases = [("", 0), ("{'a': 1}", 1), ("[1,]", 3), ("01", 1), ("{\"a\" 1}", 5), ("[1 2]", 3), ("-", 1)];
    for (text, at) in cases {
        assert_eq!(nodes(text).unwrap_err().at, at, "{text}");
    }
    for text in
        ["nul", "1.", "1e", ".5", "+1", "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "{\"a\":1,}", "[1}", "1 2"]
    {
        assert!(nodes(text).is_err(), "{text}");
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(map) => 1 + map.values().map(|v| 1 + count(v)).sum::<usize>(),
        _ => 1,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    // Keys differ, because serde_json drops duplicates.
    #[test]
    fn it_reads_what_serde_json_reads(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "{", "}", "[", "]", ",", ":", " ", "\n", "1", "-0", "0", "1.5e3", "e", ".", "true", "null", "\"a\"",
                "\"b\":", "\"\\n\":", "\"\\u00e9\"", "{}", "[]", "[1,2]", "{\"c\":[]}", "\"", "\\", "é",
            ]),
            0..9,
        ),
    ) {
        let text = parts.concat();
        match (nodes(&text), serde_json::from_str::<Value>(&text)) {
            (Ok(nodes), Ok(value)) => {
                let keys = parts.iter().filter(|p| p.ends_with(':')).count();
                prop_assert!(keys > 1 || nodes.len() == count(&value), "{}", text);
            }
            // serde_json has no float for these numbers; a digest needs only their text.
            (Ok(_), Err(e)) if e.to_string().starts_with("number out of range") => {}
            (ours, theirs) => prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{}", text),
        }
    }
}

//! Tests of listings that are rejected.

use serde_json::json;

use super::*;
use crate::{testing::tool, tool::ToolSpec};

#[test]
fn schemas_that_are_large_only_together_are_refused() {
    let tool = |name: String, schema: &Value| {
        let input_schema = Arc::new(schema.as_object().cloned().expect("an object"));
        Arc::new(ToolSpec { input_schema, ..tool(&name, None) })
    };
    let checked = |schema: &Value, tools: usize| {
        let listing = Listing {
            name: "x".into(),
            version: "1".into(),
            summary: String::new(),
            params_schema: Arc::default(),
            tools: (0..tools).map(|n| tool(format!("t{n}"), schema)).collect(),
            ..Listing::default()
        };
        listing.check().map_err(|reason| reason.to_string())
    };
    let wide = json!({"type": "object", "anyOf": vec![true; 12_000]});
    assert_eq!(checked(&wide, 16), Ok(()));
    let reason = checked(&wide, 17).expect_err("too many");
    assert_eq!(reason, "has more than 200000 schemas in total, subschemas included");
    let patterns: Map<String, Value> =
        (0..60).map(|n| (format!("{n}"), json!({"pattern": format!("[ab]*a[ab]{{1000}}{n}")}))).collect();
    let reason = checked(&json!({"type": "object", "properties": patterns}), 40).expect_err("too many");
    assert!(reason.starts_with("has patterns that compile to more than"), "{reason}");
}

#[test]
fn only_servers_may_use_long_names() {
    let checked = |name: &str| {
        let listing = Listing {
            params_schema: Arc::default(),
            tools: vec![tool(name, None).into()],
            ..Listing::default()
        };
        (listing.check().is_ok(), listing.check_server().map_err(|reason| reason.to_string()))
    };
    for (length, by_gate) in [(1, true), (64, true), (65, false), (128, false)] {
        assert_eq!(checked(&"x".repeat(length)), (by_gate, Ok(())), "{length}");
    }
    let (_, reason) = checked(&"x".repeat(129));
    let expected = format!("tool name '{}…' has 129 characters; a name has 1 to 128", "x".repeat(64));
    assert_eq!(reason, Err(expected));
    let (_, reason) = checked(&"ö".repeat(128));
    assert_eq!(reason, Ok(()), "the limit is in characters");
    assert!(checked("").1.is_err());
}

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
        listing.check().map_err(|why| why.to_string())
    };
    let wide = json!({"type": "object", "anyOf": vec![true; 12_000]});
    assert_eq!(checked(&wide, 16), Ok(()));
    let why = checked(&wide, 17).expect_err("too many");
    assert_eq!(why, "has more than 200000 schemas in total, subschemas included");
    let patterns: Map<String, Value> =
        (0..60).map(|n| (format!("{n}"), json!({"pattern": format!("[ab]*a[ab]{{1000}}{n}")}))).collect();
    let why = checked(&json!({"type": "object", "properties": patterns}), 40).expect_err("too many");
    assert!(why.starts_with("has patterns that compile to more than"), "{why}");
}

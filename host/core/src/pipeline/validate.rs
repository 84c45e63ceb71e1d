//! Checks arguments against the tool's schema before any gate runs, and says what would be right.
//! A client that sends the arguments as a JSON string gets them parsed.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Next, Stage};
use crate::{
    call::Call,
    json,
    outcome::{Fault, Outcome},
    schema::{Schema, kind_of},
};

/// A longer schema costs the client more tokens than it helps; tools/list has it.
const MAX_SHOWN_SCHEMA: usize = 4096;

pub(super) struct Validate;

#[async_trait]
impl Stage for Validate {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let schema = Arc::clone(&call.entry()?.schema);
        let refused = |why: String| refusal(&why, &schema);
        if !call.arguments.is_object() {
            call.arguments = object(&call.arguments).map_err(refused)?;
        }
        if let Err(why) = schema.check(&call.arguments, "argument") {
            call.arguments = without_nulls(&schema, &call.arguments).ok_or_else(|| refused(why))?;
        }
        next.run(call).await
    }
}

/// The arguments without their nulls, if that makes them match: many clients write null for what they
/// do not set.
fn without_nulls(schema: &Schema, arguments: &Value) -> Option<Value> {
    let given = arguments.as_object()?;
    let set: Map<String, Value> =
        given.iter().filter(|(_, value)| !value.is_null()).map(|(k, v)| (k.clone(), v.clone())).collect();
    let fewer = set.len() < given.len();
    let set = Value::Object(set);
    (fewer && schema.check(&set, "argument").is_ok()).then_some(set)
}

/// Arguments that are no object yet: none at all, or an object in a string.
fn object(value: &Value) -> Result<Value, String> {
    let parsed = match value {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) => {
            json::parse(text).map_err(|why| format!("the arguments are a string that {why}."))?
        }
        _ => Value::Null,
    };
    match parsed {
        Value::Object(_) => Ok(parsed),
        _ => Err(format!("the arguments must be an object, got {}.", kind_of(value))),
    }
}

fn refusal(why: &str, schema: &Schema) -> Fault {
    let fault = Fault::invalid(format!("Invalid arguments: {why}"));
    let shown = Value::Object((**schema.source()).clone()).to_string();
    if shown.len() > MAX_SHOWN_SCHEMA {
        return fault.hint("The tool's schema is in tools/list.");
    }
    fault.hint(format!("Expected: {shown}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_in_a_string_are_parsed_and_nothing_else_is() {
        assert_eq!(object(&json!("{\"query\":\"x\"}")), Ok(json!({"query": "x"})));
        assert_eq!(object(&Value::Null), Ok(json!({})));
        assert_eq!(object(&json!(5)), Err("the arguments must be an object, got a number.".into()));
        assert_eq!(object(&json!("[1]")), Err("the arguments must be an object, got a string.".into()));
        assert!(object(&json!("{oops")).expect_err("not JSON").starts_with("the arguments are a string"));
    }

    #[test]
    fn a_null_that_the_schema_refuses_counts_as_not_set() {
        let source = json!({"type": "object", "required": ["query"], "properties": {
            "query": {"type": "string"}, "top_k": {"type": "integer"}, "any": {}}});
        let schema = Schema::new(Arc::new(source.as_object().cloned().expect("object")));
        assert_eq!(
            without_nulls(&schema, &json!({"query": "x", "top_k": null})),
            Some(json!({"query": "x"}))
        );
        assert_eq!(without_nulls(&schema, &json!({"query": null})), None);
        assert_eq!(without_nulls(&schema, &json!({"query": 5})), None);
    }
}

//! Checks arguments against the tool's schema before any gate runs, and says what would be right.
//! A client that sends the arguments as a JSON string gets them parsed.

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Next, Stage};
use crate::{
    call::Call,
    outcome::{Fault, Outcome},
    schema::{Schema, kind_of},
};

/// A longer schema costs the client more tokens than it helps; tools/list has it.
const MAX_SHOWN_SCHEMA: usize = 4096;

pub(super) struct Validate;

#[async_trait]
impl Stage for Validate {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let schema = &call.entry()?.schema;
        let refused = |why: String| refusal(&why, schema);
        match &call.arguments {
            Value::Object(_) => schema.check(&call.arguments, "argument").map_err(refused)?,
            other => {
                let arguments = object(other).map_err(refused)?;
                schema.check(&arguments, "argument").map_err(refused)?;
                call.arguments = arguments;
            }
        }
        next.run(call).await
    }
}

/// Arguments that are no object yet: none at all, or an object in a string.
fn object(value: &Value) -> Result<Value, String> {
    let parsed = match value {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) => serde_json::from_str(text)
            .map_err(|error| format!("the arguments are a string that is not JSON ({error})."))?,
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
}

//! Checks arguments against the tool's schema before the tool runs. The fault describes valid arguments.
//!
//! Arguments in a JSON string are parsed. Long checks restart on another thread; see [`crate::check_threads`].

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{MAX_INLINE_PARSE_BYTES, Next, Stage};
use crate::{
    Call, Fault, InvalidValue, Outcome, Schema, check_threads, json,
    schema::{StepBudget, ValidationError, kind_of, too_many_steps},
};

/// Maximum bytes of a schema in a hint. Longer schemas cost the client more tokens than they save.
const MAX_SHOWN_SCHEMA: usize = 4096;

pub struct ValidateStage;

#[async_trait]
impl Stage for ValidateStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        let schema = &entry.input_schema;
        let arguments = std::mem::take(&mut call.arguments);
        let short = !matches!(&arguments, Value::String(text) if text.len() > MAX_INLINE_PARSE_BYTES);
        let (arguments, settled) = check_threads::check(
            (context.principal(), &entry.id.source),
            schema,
            arguments,
            short,
            coerce_arguments,
        )
        .await?;
        settled.map_err(|refusal| match refusal {
            ValidationError::Invalid(reason) => invalid_arguments(&reason, schema),
            ValidationError::Stopped(_) => {
                Fault::invalid(format!("invalid arguments: they {}", too_many_steps()))
            }
        })?;
        call.arguments = arguments;
        next.run(call).await
    }
}

/// Makes the arguments an object that matches the schema.
///
/// If the check stops early, the arguments are unchanged except that nulls may be gone.
fn coerce_arguments(
    schema: &Schema,
    arguments: &mut Value,
    steps: &mut StepBudget<'_>,
) -> Result<(), ValidationError> {
    if !arguments.is_object() {
        *arguments = to_object(arguments).map_err(|reason| ValidationError::Invalid(reason.into()))?;
    }
    let refusal = match schema.check_with_budget(arguments, "argument", steps) {
        Err(ValidationError::Invalid(reason)) => ValidationError::Invalid(reason),
        other => return other,
    };
    // Many clients send null for arguments that are not set.
    let Some(members) = arguments.as_object_mut() else { return Err(refusal) };
    let member_count = members.len();
    members.retain(|_, value| !value.is_null());
    if members.len() == member_count {
        return Err(refusal);
    }
    match schema.check_with_budget(arguments, "argument", steps) {
        Err(ValidationError::Invalid(_)) => Err(refusal),
        other => other,
    }
}

/// Converts missing arguments, or an object in a string, to an object.
fn to_object(value: &Value) -> Result<Value, InvalidValue> {
    let parsed = match value {
        Value::Null => Value::Object(Map::new()),
        Value::String(text) => {
            json::parse(text).map_err(|reason| format!("the arguments are a string that {reason}."))?
        }
        _ => Value::Null,
    };
    match parsed {
        Value::Object(_) => Ok(parsed),
        _ => Err(format!("the arguments must be an object, got {}.", kind_of(value)).into()),
    }
}

fn invalid_arguments(reason: &str, schema: &Schema) -> Fault {
    let fault = Fault::invalid(format!("invalid arguments: {reason}"));
    let schema_text = serde_json::to_string(&**schema.source()).unwrap_or_default();
    if schema_text.len() > MAX_SHOWN_SCHEMA {
        return fault.hint("The tool's schema is in tools/list.");
    }
    fault.hint(format!("Expected: {schema_text}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_in_a_string_are_parsed_and_nothing_else_is() {
        assert_eq!(to_object(&json!("{\"query\":\"x\"}")), Ok(json!({"query": "x"})));
        assert_eq!(to_object(&Value::Null), Ok(json!({})));
        assert_eq!(to_object(&json!(5)), Err("the arguments must be an object, got a number.".into()));
        assert_eq!(to_object(&json!("[1]")), Err("the arguments must be an object, got a string.".into()));
        assert!(
            to_object(&json!("{oops")).expect_err("not JSON").to_string().starts_with("the arguments are")
        );
    }

    #[test]
    fn a_null_that_the_schema_refuses_counts_as_not_set() {
        let source = json!({"type": "object", "required": ["query"], "properties": {
            "query": {"type": "string"}, "top_k": {"type": "integer"}, "any": {}}});
        let schema = Schema::new(Arc::new(source.as_object().cloned().expect("object")));
        let settled = |mut arguments: Value| {
            coerce_arguments(&schema, &mut arguments, &mut StepBudget::new_awaited()).map(|()| arguments)
        };
        assert_eq!(settled(json!({"query": "x", "top_k": null})), Ok(json!({"query": "x"})));
        assert_eq!(settled(json!({"query": "x", "any": null})), Ok(json!({"query": "x", "any": null})));
        assert_eq!(
            settled(json!({"query": null})),
            Err(ValidationError::Invalid("'query' must be a string, got null.".into())),
            "the first mistake is reported"
        );
        assert!(settled(json!({"query": 5})).is_err());
    }
}

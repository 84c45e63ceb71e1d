//! Checks structured replies against the output schema that the tool declares to clients.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use super::{Next, Stage};
use crate::{
    Call, Fault, Outcome, Reply, Schema, ToolEntry, check_threads, names,
    schema::{StepBudget, ValidationError, too_many_steps},
};

pub struct ConformStage;

#[async_trait]
impl Stage for ConformStage {
    fn applies(&self, call: &Call) -> bool {
        call.context.entry().is_ok_and(|entry| entry.output_schema.is_some())
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        let mut reply = next.run(call).await?;
        let Some(schema) = entry.output_schema.as_ref().filter(|_| !reply.is_error) else { return Ok(reply) };
        let Some(structured) = reply.structured.take() else {
            return Err(contract_fault(
                entry,
                "has no structured data, but the tool declares an output schema",
            ));
        };
        let check = |schema: &Schema, value: &mut Value, steps: &mut StepBudget<'_>| {
            schema.check_with_budget(value, "member", steps)
        };
        let (structured, checked) =
            check_threads::check((context.principal(), &entry.id.source), schema, structured, true, check)
                .await?;
        checked.map_err(|refusal| match refusal {
            ValidationError::Invalid(reason) => {
                contract_fault(entry, &format!("does not match its output schema: {reason}"))
            }
            ValidationError::Stopped(_) => {
                contract_fault(entry, &format!("has data that {}", too_many_steps()))
            }
        })?;
        Ok(Reply { structured: Some(structured), ..reply })
    }
}

fn contract_fault(entry: &ToolEntry, reason: &str) -> Fault {
    let (source, tool) = (&entry.id.source, &entry.id.name);
    let reason = names::quoted(reason.trim_end_matches('.'), 300);
    Fault::internal(format!("{source} broke the contract: the reply of '{tool}' {reason}"))
        .hint(format!("This is a bug in {source}."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        FaultKind,
        testing::{Fixture, context, tool},
    };

    async fn outcome(name: &str, arguments: Value) -> Result<Option<Value>, (FaultKind, String)> {
        let output = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let tools = vec![tool("strict", Some(output)), tool("free", None)];
        let source = Fixture::gate("x", tools);
        let context = context(vec![Arc::new(ConformStage)], &source, name).await;
        match Call::new(context, arguments).run().await {
            Ok(reply) => Ok(reply.structured),
            Err(fault) => Err((fault.kind, fault.message)),
        }
    }

    #[tokio::test]
    async fn a_reply_holds_to_the_schema_that_its_tool_declares() {
        let fine = json!({"n": 1, "more": [true]});
        assert_eq!(outcome("strict", json!({"structured": fine})).await, Ok(Some(fine)));
        let large = json!({"n": 1, "more": vec![0; 200_000]});
        assert_eq!(
            outcome("strict", json!({"structured": large})).await,
            Ok(Some(large)),
            "on a thread for checks"
        );
        let broken = |reason: &str| {
            Err((FaultKind::Internal, format!("gate 'x' broke the contract: the reply of 'strict' {reason}")))
        };
        assert_eq!(
            outcome("strict", json!({"structured": {"n": "one"}})).await,
            broken("does not match its output schema: 'n' must be an integer, got a string")
        );
        assert_eq!(
            outcome("strict", json!({"structured": {}})).await,
            broken("does not match its output schema: missing required member 'n'")
        );
        assert_eq!(
            outcome("strict", json!({})).await,
            broken("has no structured data, but the tool declares an output schema")
        );
        assert_eq!(
            outcome("strict", json!({"is_error": true})).await,
            Ok(None),
            "an error says what it says"
        );
        assert_eq!(outcome("free", json!({"structured": {"n": "one"}})).await, Ok(Some(json!({"n": "one"}))));
        assert_eq!(outcome("free", json!({})).await, Ok(None));
    }
}

//! Returns faults of tools that take requests as a JSON object, like their other answers.
//!
//! The stage is outermost: other stages see a fault, and the caller sees JSON.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{Call, ContentPart, Outcome, Reply, envelope, workflow::takes_requests};

pub struct RespondStage;

#[async_trait]
impl Stage for RespondStage {
    fn applies(&self, call: &Call) -> bool {
        call.context.entry().is_ok_and(|entry| takes_requests(entry))
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let repeated = envelope::echoed_members(&call.arguments);
        let fault = match next.run(call).await {
            Ok(reply) => return Ok(reply),
            Err(fault) => fault,
        };
        let took = context.started.elapsed().saturating_sub(context.waited());
        let text = envelope::fault_response(&fault, &repeated, took).to_string();
        Ok(Reply { content: vec![ContentPart::Text(text)], is_error: true, ..Reply::default() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Fault, Pipeline,
        pipeline::ValidateStage,
        testing::{Fixture, context, request_tool, tool},
    };

    struct Fails;

    #[async_trait]
    impl Stage for Fails {
        async fn run(&self, _: &mut Call, _: Next<'_>) -> Outcome {
            Err(Fault::exhausted("The gate is out of memory.").hint("Ask for less."))
        }
    }

    async fn outcome(stage: Arc<dyn Stage>, name: &str, arguments: Value) -> Outcome {
        let tools = vec![request_tool("ask"), tool("look", None)];
        let source = Fixture::gate("g", tools);
        let mut context = context(Vec::new(), &source, name).await;
        context.pipeline = Arc::new(Pipeline::new(vec![Arc::new(RespondStage), stage]));
        Call::new(context, arguments).run().await
    }

    fn error_json(outcome: Outcome) -> Value {
        let reply = outcome.expect("a reply");
        let [ContentPart::Text(text)] = &reply.content[..] else { panic!("{reply:?}") };
        assert!(reply.is_error);
        serde_json::from_str(text).expect("JSON")
    }

    #[tokio::test]
    async fn a_fault_of_any_stage_is_one_json_object() {
        let sent = json!({"intent": "QUERY", "action": "x".repeat(500), "effect": 5});
        let answer = error_json(outcome(Arc::new(Fails), "ask", sent).await);
        assert_eq!(answer["ok"], false);
        assert_eq!(
            (&answer["request"]["intent"], &answer["request"]["effect"]),
            (&json!("QUERY"), &Value::Null)
        );
        assert!(
            answer["request"]["action"].as_str().is_some_and(|action| action.chars().count() <= 65),
            "{answer}"
        );
        assert_eq!(answer["error"]["message"], "The gate is out of memory.");
        assert_eq!(answer["error"]["suggestion"], "Ask for less.");
        assert!(answer["meta"]["duration_ms"].is_u64());
        let list = error_json(outcome(Arc::new(ValidateStage), "ask", json!([1, 2])).await);
        assert_eq!(list["error"]["type"], "VALIDATION", "{list}");
        assert!(outcome(Arc::new(Fails), "look", json!({})).await.is_err(), "other tools keep their faults");
    }
}

//! Returns the reply of a nested call, unfiltered, if the tool that forwards it fails afterwards.
//!
//! A forwarding tool can fail while it applies a filter, by lack of memory, stack or time. This stage is inside
//! *compact*, which shortens the rescued reply.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{Call, FaultKind, Outcome};

pub struct RescueStage;

#[async_trait]
impl Stage for RescueStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        match next.run(call).await {
            // Other faults are the tool's own answer.
            Err(fault)
                if matches!(fault.kind, FaultKind::Exhausted | FaultKind::Internal | FaultKind::TimedOut) =>
            {
                context.relayed_reply_or(fault)
            }
            outcome => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        CallContext, Fault, Pipeline,
        pipeline::DeadlineStage,
        testing::{Fixture, catalog, forwarding_tool, request_tool, tool},
    };

    /// Makes the outer call fail after its nested call, in the way that the argument `fails` names.
    struct Exhausts;

    #[async_trait]
    impl Stage for Exhausts {
        async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
            let outcome = next.run(call).await;
            match (&*call.context.name, call.arguments["fails"].as_str()) {
                ("look", _) | (_, None) => outcome,
                (_, Some("late")) => std::future::pending().await,
                (_, Some("denied")) => Err(Fault::denied("No.")),
                (_, Some(_)) => Err(Fault::exhausted("Gate 'proxy' used up its memory.")),
            }
        }
    }

    async fn outcome(through: &str, fails: &str) -> Outcome {
        let gate = Fixture::gate("proxy", vec![forwarding_tool("call_tool"), request_tool("request")]);
        let server = Fixture::server("s", vec![tool("look", None)]);
        let catalog = catalog(&[&gate, &server]).await;
        let stages: Vec<Arc<dyn Stage>> =
            vec![Arc::new(DeadlineStage), Arc::new(RescueStage), Arc::new(Exhausts)];
        let context = CallContext::new(&Arc::new(Pipeline::new(stages)), catalog, through);
        let arguments = json!({"nested": "s__look", "with": {"x": 1}, "fails": fails});
        Call::new(context, arguments).run().await
    }

    #[tokio::test(start_paused = true)]
    async fn a_filter_that_fails_loses_nothing_of_a_tool_that_has_run() {
        for fails in ["memory", "late"] {
            let reply = outcome("call_tool", fails).await.unwrap_or_else(|fault| panic!("{fails}: {fault}"));
            let text =
                json!(reply.content.iter().map(|block| format!("{block:?}")).collect::<Vec<_>>()).to_string();
            assert!(
                text.contains("look {") && text.contains("whole reply: 'call_tool' failed"),
                "{fails}: {text}"
            );
        }
        assert_eq!(outcome("call_tool", "denied").await.expect_err("a fault").message, "No.");
        assert!(
            outcome("request", "memory").await.is_err(),
            "what a request makes of a reply is more than that"
        );
    }
}

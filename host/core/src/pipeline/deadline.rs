//! Ends a call when its time is up or its client has given up. Dropping the rest of the pipeline frees
//! whatever it held; the sandbox ends a busy loop by its own deadline, at the same moment.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{
    call::Call,
    outcome::{Fault, FaultKind, Outcome},
};

/// See the module.
pub struct Deadline;

#[async_trait]
impl Stage for Deadline {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let deadline = call.deadline().clone();
        let ended = tokio::select! {
            biased;
            outcome = next.run(call) => return outcome,
            () = deadline.passes() => timed_out(&context.name, context.time_limit()),
            () = context.cancel.cancelled() => cancelled(&context.name),
        };
        Err(ended)
    }
}

/// The fault of a call that took too long.
fn timed_out(tool: &str, limit: Duration) -> Fault {
    Fault::new(FaultKind::TimedOut, format!("'{tool}' was stopped after {} s.", limit.as_secs_f32()))
        .hint("Ask for less at once, or raise the gate's limits.time in presets.toml.")
}

fn cancelled(tool: &str) -> Fault {
    let mut fault = Fault::new(FaultKind::TimedOut, format!("'{tool}' was cancelled by the client."));
    fault.retryable = false;
    fault
}

//! Ends a call when its time is up or its client has given up. Dropping the rest of the line frees
//! whatever it held; the sandbox ends a busy loop by its own deadline, at the same moment.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use super::{Next, Stage};
use crate::{
    call::Call,
    outcome::{Fault, FaultKind, Outcome},
};

pub(super) struct Deadline;

#[async_trait]
impl Stage for Deadline {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let limit = call.entry()?.source.time_limit();
        call.deadline = call.deadline.min(Instant::now() + limit);
        let (deadline, cancel) = (call.deadline, call.cancel.clone());
        let ended = tokio::select! {
            biased;
            outcome = next.run(call) => return outcome,
            () = tokio::time::sleep_until(deadline) => timed_out(&call.name, limit),
            () = cancel.cancelled() => cancelled(&call.name),
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

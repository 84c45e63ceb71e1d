//! Ends a call at its deadline or when the client cancels it.
//!
//! Dropping the rest of the pipeline frees its resources. The sandbox interrupts busy loops by its own deadline at the
//! same moment.

use std::sync::Arc;

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{Call, CallContext, Fault, FaultKind, Outcome, SourceId};

pub struct DeadlineStage;

#[async_trait]
impl Stage for DeadlineStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let deadline = call.deadline().clone();
        tokio::select! {
            biased;
            outcome = next.run(call) => outcome,
            () = deadline.expired() => context.relayed_reply_or(timed_out(&context)),
            () = context.cancel.cancelled() => {
                let message = format!("'{}' was cancelled by the client", context.name);
                Err(Fault { retryable: false, ..Fault::new(FaultKind::TimedOut, message) })
            }
        }
    }
}

/// Returns the fault of a call that took too long. It names the limit that ended the call.
fn timed_out(context: &CallContext) -> Fault {
    let (tool, limit) = (&context.name, context.time_limit().as_secs_f32());
    let source = context.entry().ok().map(|entry| &entry.id.source);
    let silent = match source {
        Some(SourceId::Server(server)) => format!("; server '{server}' did not answer"),
        _ => String::new(),
    };
    let (message, hint) = match (context.shortened_by(), source) {
        (Some(outer), _) => {
            let seconds = (context.started.elapsed().as_secs_f32() * 10.0).round() / 10.0;
            let message =
                format!("'{tool}' was stopped after {seconds} s, shortly before {outer} runs out of time");
            let hint = format!("raise {} in presets.toml, or the call's timeout.", key(outer));
            (message, hint)
        }
        (None, Some(server)) if !context.time.extension().is_zero() => {
            let seconds = (context.started.elapsed().as_secs_f32() * 10.0).round() / 10.0;
            let message = format!("'{tool}' was stopped after {seconds} s, in spite of its progress");
            (message, format!("raise timeout or max_timeout of [servers.{}] in presets.toml.", server.name()))
        }
        (None, source) => {
            let key = source.map_or_else(|| "limits.time".to_owned(), key);
            (format!("'{tool}' was stopped after {limit} s"), format!("raise {key} in presets.toml."))
        }
    };
    Fault::new(FaultKind::TimedOut, message + &silent).hint(format!("Request less data, or {hint}"))
}

fn key(source: &SourceId) -> String {
    match source {
        SourceId::Gate(gate) => format!("limits.time of [gates.{gate}]"),
        SourceId::Server(server) => format!("timeout of [servers.{server}]"),
    }
}

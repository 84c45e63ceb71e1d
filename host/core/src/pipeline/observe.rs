//! Passes a record of every finished call to observers.
//!
//! Observers see sizes and kinds and a short error text without secrets. Arguments and replies only if the ledger stores
//! them, without secrets.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_telemetry::{CallLabels, call_labels, metrics, with_call_labels};
use tracing::Level;

use super::{Next, Stage};
use crate::{
    Call, CallContext, FaultKind, LogLimit, Outcome,
    call::{
        call_bodies::{MAX_BODY_BYTES, call_bodies},
        failure_text::failure_text,
    },
    json, names,
    ports::ledger::{CallBodies, SampleEnding},
};

/// Log target of call lines, at level info.
pub const CALL_LOG_TARGET: &str = "calls";

static UNKNOWN_TOOL_LOG_LIMIT: LogLimit = LogLimit::new();

pub struct CallRecord<'a> {
    /// The call. Its tool may be unknown.
    pub context: &'a CallContext,
    /// Duration, without time spent waiting for the client's answers.
    pub duration: Duration,
    pub ending: SampleEnding,
    pub bytes_in: usize,
    pub bytes_out: usize,
    pub text_bytes_out: usize,
    /// One line, bounded, without secrets. `None` if the call succeeded or its error has no text.
    pub error: Option<String>,
    /// `None` if the ledger does not store them.
    pub bodies: Option<CallBodies>,
}

pub trait CallObserver: Send + Sync {
    /// Returns true if the observer wants the next call. If no observer does, nothing is measured.
    fn is_on(&self) -> bool {
        true
    }

    /// Handles the record of a call. Must not block.
    fn observe(&self, record: &CallRecord<'_>);
}

pub struct CallLog;

impl CallObserver for CallLog {
    fn is_on(&self) -> bool {
        tracing::enabled!(target: CALL_LOG_TARGET, Level::INFO)
    }

    fn observe(&self, record: &CallRecord<'_>) {
        let CallRecord { context, duration, ending, bytes_out, .. } = record;
        let (tool, preset) = (names::quoted(&context.name, 64), &context.catalog.preset);
        let ms = duration.as_micros() as f64 / 1_000.0;
        tracing::info!(
            target: CALL_LOG_TARGET, %tool, %preset, ms, outcome = ending.as_str(), bytes = bytes_out, "tools/call"
        );
    }
}

/// Counts calls for operators.
pub struct CallCounter;

impl CallObserver for CallCounter {
    fn is_on(&self) -> bool {
        metrics().is_some()
    }

    fn observe(&self, record: &CallRecord<'_>) {
        let (Some(metrics), Ok(entry)) = (metrics(), record.context.entry()) else { return };
        metrics.calls.series([&entry.id.source.to_string(), record.ending.as_str()]).inc();
    }
}

pub struct ObserveStage {
    observers: Vec<Box<dyn CallObserver>>,
    with_bodies: bool,
}

impl ObserveStage {
    /// Creates the stage. `with_bodies` is true if records have the arguments and the reply.
    pub fn new(observers: Vec<Box<dyn CallObserver>>, with_bodies: bool) -> Self {
        Self { observers, with_bodies }
    }

    async fn run_observed(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let context = Arc::clone(&call.context);
        let bytes_in = json::encoded_len(&call.arguments);
        // Before later stages fill or take them.
        let is_kept = self.with_bodies && bytes_in <= MAX_BODY_BYTES;
        let sent = is_kept.then(|| call.arguments.clone());
        let outcome = next.run(call).await;
        let error =
            context.entry().ok().and_then(|entry| failure_text(&*entry.source, &call.arguments, &outcome));
        let bodies = || {
            let source = &*context.entry().ok()?.source;
            Some(call_bodies(source, sent.as_ref(), bytes_in, &outcome))
        };
        let (bytes_out, text_bytes_out) = match &outcome {
            Ok(reply) => (reply.bytes(), reply.text_bytes()),
            Err(fault) => (fault.message.len(), fault.message.len()),
        };
        let record = CallRecord {
            context: &context,
            duration: context.started.elapsed().saturating_sub(context.waited()),
            ending: SampleEnding::from_outcome(&outcome),
            bytes_in,
            bytes_out,
            text_bytes_out,
            error,
            bodies: self.with_bodies.then(bodies).flatten(),
        };
        for observer in self.observers.iter().filter(|observer| observer.is_on()) {
            observer.observe(&record);
        }
        outcome
    }
}

#[async_trait]
impl Stage for ObserveStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        // That of the enclosing call, if there is one.
        let principal = call_labels().map(|outer| outer.principal.clone()).unwrap_or_default();
        let labels =
            CallLabels { call: call.context.id.uuid(), principal, trace: call.context.trace.clone() };
        with_call_labels(Arc::new(labels), self.run_labeled(call, next)).await
    }
}

impl ObserveStage {
    async fn run_labeled(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let outcome = if self.observers.iter().any(|observer| observer.is_on()) {
            self.run_observed(call, next).await
        } else {
            next.run(call).await
        };
        if matches!(&outcome, Err(fault) if fault.kind == FaultKind::UnknownTool)
            && let Some(left_out) = UNKNOWN_TOOL_LOG_LIMIT.admit_line()
        {
            let (tool, preset) = (names::quoted(&call.context.name, 64), &call.context.catalog.preset);
            tracing::info!(%tool, %preset, left_out, "unknown tool called");
        }
        outcome
    }
}

//! Sees every call: one line when it is over, where the operator asks for lines of calls, and one span
//! around it at level debug. Arguments and results are never logged here, only sizes and kinds: a fault's
//! message may quote an argument.

use async_trait::async_trait;
use tokio::time::Instant;
use tracing::{Instrument, Level};

use super::{Next, Stage};
use crate::{
    call::Call,
    log_limit::LogLimit,
    names,
    outcome::{FaultKind, Outcome},
};

/// What the lines of calls go by in filters of the log, at level info.
pub const CALLS: &str = "calls";

/// Lines about tools that are unknown.
static UNKNOWN: LogLimit = LogLimit::new();

pub(super) struct Observe;

#[async_trait]
impl Stage for Observe {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let outcome = if tracing::enabled!(target: CALLS, Level::INFO) {
            observed(call, next).await
        } else {
            next.run(call).await
        };
        if matches!(&outcome, Err(fault) if fault.kind == FaultKind::UnknownTool)
            && let Some(left_out) = UNKNOWN.line()
        {
            let (tool, preset) = (names::quoted(&call.name, 64), &call.catalog.preset);
            tracing::info!(%tool, %preset, left_out, "unknown tool called");
        }
        outcome
    }
}

async fn observed(call: &mut Call, next: Next<'_>) -> Outcome {
    let (id, tool, preset) = (call.id, names::quoted(&call.name, 64), call.catalog.preset.clone());
    let generation = call.catalog.generation.0;
    let span = tracing::debug_span!("tools/call", call = %id, %tool, %preset, generation);
    let started = Instant::now();
    let outcome = next.run(call).instrument(span).await;
    let ms = started.elapsed().as_micros() as f64 / 1_000.0;
    let (ended, bytes) = match &outcome {
        Ok(reply) if reply.is_error => ("error", reply.bytes()),
        Ok(reply) => ("ok", reply.bytes()),
        Err(fault) => (kind(fault.kind), fault.message.len()),
    };
    tracing::info!(target: CALLS, call = %id, %tool, %preset, ms, outcome = ended, bytes, "tools/call");
    outcome
}

fn kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::UnknownTool => "unknown-tool",
        FaultKind::InvalidArguments => "invalid-arguments",
        FaultKind::NotFound => "not-found",
        FaultKind::Denied => "denied",
        FaultKind::Unavailable => "unavailable",
        FaultKind::TimedOut => "timed-out",
        FaultKind::Exhausted => "exhausted",
        FaultKind::Internal => "internal",
    }
}

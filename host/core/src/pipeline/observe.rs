//! Sees every call: one span around it, one line when it is over, at level debug. Arguments and results are
//! never logged here, only sizes and kinds: a fault's message may quote an argument.

use async_trait::async_trait;
use tokio::time::Instant;
use tracing::Instrument;

use super::{Next, Stage};
use crate::{call::Call, names, outcome::Outcome};

pub(super) struct Observe;

#[async_trait]
impl Stage for Observe {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        if !tracing::enabled!(tracing::Level::DEBUG) {
            return next.run(call).await;
        }
        let span = tracing::debug_span!(
            "tools/call",
            call = %call.id,
            tool = %names::quoted(&call.name, 64),
            preset = %call.catalog.preset,
            generation = call.catalog.generation.0,
        );
        let started = Instant::now();
        let outcome = next.run(call).instrument(span.clone()).await;
        let micros = started.elapsed().as_micros() as u64;
        let _entered = span.entered();
        match &outcome {
            Ok(reply) => tracing::debug!(micros, bytes = reply.bytes(), is_error = reply.is_error, "done"),
            Err(fault) => tracing::debug!(micros, fault = ?fault.kind, "failed"),
        }
        outcome
    }
}

//! The stages that every call passes on its way to a source, and its outcome on the way back.
//!
//! ```text
//! local_paths → respond → convert → observe → audit → quota → admit → deadline → splice → validate → permit → workflow → approve → compact → rescue → conform → source
//! ```
//!
//! A stage that has nothing to do for a call is skipped. docs/architecture.md has the reason for each position. The
//! host's composition root builds the list, because stages need its services.

mod admit;
mod approve;
mod audit;
mod compact;
mod conform;
mod convert;
mod deadline;
mod local_paths;
mod observe;
mod permit;
mod quota;
mod rescue;
mod respond;
mod splice;
mod validate;
mod workflow;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use tokio::time::Instant;

#[cfg(any(test, fuzzing))]
pub(crate) use splice::fuzz_arguments;

pub use admit::AdmitStage;
pub(crate) use approve::form as approval_form;
pub use approve::{AnswerEffect, ApprovalQueue, ApprovalRequest, ApproveStage};
pub use audit::AuditStage;
pub use compact::CompactStage;
pub use conform::ConformStage;
pub use convert::ConvertStage;
pub use deadline::DeadlineStage;
pub use local_paths::{LocalPaths, LocalPathsStage};
pub use observe::{CALL_LOG_TARGET, CallCounter, CallLog, CallObserver, CallRecord, ObserveStage};
pub use permit::PermitStage;
pub use quota::QuotaStage;
pub use rescue::RescueStage;
pub use respond::RespondStage;
pub use splice::SpliceStage;
pub(crate) use splice::has_own_markers;
pub use validate::ValidateStage;
pub use workflow::WorkflowStage;

use crate::{Call, CallContext, Fault, Outcome, quota_meter::QuotaMeter};

/// Maximum bytes to parse as JSON on a thread that serves requests.
const MAX_INLINE_PARSE_BYTES: usize = 32 << 10;

#[async_trait]
pub trait Stage: Send + Sync {
    /// Whether the stage does anything for this call, as the stages before it left it. Each stage that runs costs a box
    /// and a copy of the rest.
    fn applies(&self, _: &Call) -> bool {
        true
    }

    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome;
}

/// The rest of the pipeline. A stage that retries may run it more than once.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    stages: &'a [Arc<dyn Stage>],
}

impl Next<'_> {
    /// Runs the next stage that applies, or the source after the last one.
    pub async fn run(self, call: &mut Call) -> Outcome {
        let mut stages = self.stages;
        while let [stage, rest @ ..] = stages {
            if stage.applies(call) {
                return stage.run(call, Next { stages: rest }).await;
            }
            stages = rest;
        }
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        entry.apply_fixed_arguments(&mut call.arguments);
        let _in_source = SourceTimer { context: &context, since: Instant::now(), waited: context.waited() };
        let outcome = entry.source.call(call, entry).await;
        if let Ok(reply) = &outcome {
            context.source_text_bytes.store(reply.text_bytes() as u64, Ordering::Relaxed);
        }
        outcome
    }
}

/// Adds the time in the source when dropped, so that stopped calls count too.
struct SourceTimer<'a> {
    context: &'a CallContext,
    since: Instant,
    /// Time that the call had waited for its client before the source ran.
    waited: Duration,
}

impl Drop for SourceTimer<'_> {
    fn drop(&mut self) {
        let waited = self.context.waited().saturating_sub(self.waited);
        let took = self.since.elapsed().saturating_sub(waited).as_micros().max(1) as u64;
        self.context.in_source_us.fetch_add(took, Ordering::Relaxed);
    }
}

/// Runs work on this thread if it is `short`, or else on one that may block. `panicked` is the message of the fault if it
/// panics there.
async fn run_work<T: Send + 'static>(
    short: bool,
    panicked: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Fault> {
    if short {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|_| Fault::internal(panicked))
}

pub struct Pipeline {
    stages: Vec<Arc<dyn Stage>>,
    /// Quotas of requests that skip the stages.
    pub(crate) quotas: Option<Arc<QuotaMeter>>,
    /// Directories that errors of such requests do not name.
    pub(crate) local_paths: Option<Arc<LocalPaths>>,
}

impl Pipeline {
    pub fn new(stages: Vec<Arc<dyn Stage>>) -> Self {
        Self { stages, quotas: None, local_paths: None }
    }

    /// Removes directories from errors of requests that skip the stages.
    #[must_use]
    pub fn with_local_paths(self, paths: Arc<LocalPaths>) -> Self {
        Self { local_paths: Some(paths), ..self }
    }

    /// Applies the quotas of callers to requests that skip the stages, such as resource reads.
    #[must_use]
    pub fn with_quotas(self, meter: Arc<QuotaMeter>) -> Self {
        Self { quotas: Some(meter), ..self }
    }

    pub(crate) async fn run(&self, call: &mut Call) -> Outcome {
        Next { stages: &self.stages }.run(call).await
    }
}

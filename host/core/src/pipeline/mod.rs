//! The stages that every call passes on its way to a source, and its outcome on the way back.
//!
//! ```text
//! respond → observe → admit → deadline → splice → validate → workflow → approve → compact → rescue → conform → source
//! ```
//!
//! *respond* is outermost and words the faults of requests as JSON. *observe* comes before all that works, so nothing
//! goes unseen. *admit* comes before all that depends on the tool: a message about a schema would tell that a hidden
//! tool exists. *deadline* comes before all that takes time: checking arguments and replies counts as running does.
//! *splice* comes before *validate*, which checks the arguments as the tool gets them. *workflow* lets a call through
//! only in its turn, and *approve* shows the arguments to a person. *compact* comes after *conform* on the way back,
//! so what it shortens is what the tool promised. *rescue* has the reply of a tool that has run if the tool that
//! passes it on fails. *conform* is next to the source, so that no stage works on a reply that breaks its promise.
//! Later stages (suggest, cache, retry, breaker) have their places between *compact* and *conform*, a retry with a
//! limit for each attempt ([`Call::attempt`]). The list itself is where the host is composed, because stages need
//! what only that place knows.

mod admit;
mod approve;
mod compact;
mod conform;
mod deadline;
mod observe;
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
pub(crate) use splice::fuzz::arguments as fuzz_arguments;

pub use admit::AdmitStage;
pub use approve::ApproveStage;
pub(crate) use approve::form as approval_form;
pub use compact::CompactStage;
pub use conform::ConformStage;
pub use deadline::DeadlineStage;
pub use observe::{CALL_LOG_TARGET, CallEnding, CallLog, CallObserver, CallRecord, ObserveStage};
pub use rescue::RescueStage;
pub use respond::RespondStage;
pub use splice::SpliceStage;
pub(crate) use splice::has_own_markers;
pub use validate::ValidateStage;
pub use workflow::WorkflowStage;

use crate::{
    call::{Call, CallContext},
    outcome::Outcome,
};

/// One step of the pipeline.
#[async_trait]
pub trait Stage: Send + Sync {
    /// Does its part and hands the call on, or ends it.
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome;
}

/// The rest of the pipeline. A stage that retries may run it more than once.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    stages: &'a [Arc<dyn Stage>],
}

impl Next<'_> {
    /// Runs what is left: the next stage, or the source itself.
    pub async fn run(self, call: &mut Call) -> Outcome {
        if let [stage, rest @ ..] = self.stages {
            return stage.run(call, Next { stages: rest }).await;
        }
        let context = Arc::clone(&call.context);
        let entry = context.entry()?;
        entry.apply_fixed_arguments(&mut call.arguments);
        let _in_source = SourceTimer { context: &context, since: Instant::now(), waited: context.waited() };
        entry.source.call(call, entry).await
    }
}

/// Counts the time in the source when it is dropped, so that a call that is stopped there counts too.
struct SourceTimer<'a> {
    context: &'a CallContext,
    since: Instant,
    /// How long the call had waited for its client by then.
    waited: Duration,
}

impl Drop for SourceTimer<'_> {
    fn drop(&mut self) {
        let waited = self.context.waited().saturating_sub(self.waited);
        let took = self.since.elapsed().saturating_sub(waited).as_micros().max(1) as u64;
        self.context.in_source_us.fetch_add(took, Ordering::Relaxed);
    }
}

/// The list of stages.
pub struct Pipeline {
    stages: Vec<Arc<dyn Stage>>,
}

impl Pipeline {
    /// These stages, outermost first.
    pub fn new(stages: Vec<Arc<dyn Stage>>) -> Self {
        Self { stages }
    }

    /// Takes a call through the stages and its outcome back.
    pub(crate) async fn run(&self, call: &mut Call) -> Outcome {
        Next { stages: &self.stages }.run(call).await
    }
}

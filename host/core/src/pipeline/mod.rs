//! The stages that every call passes on its way to a source, and its outcome on the way back.
//!
//! ```text
//! observe → admit → deadline → validate → conform → source
//! ```
//!
//! *observe* is outermost, so nothing goes unseen. *admit* comes before all that depends on the tool: a message
//! about a schema would tell that a hidden tool exists. *deadline* comes before all that takes time: checking
//! arguments and replies counts as running does. *conform* stands next to the source, so that no stage works
//! on a reply that breaks its promise. Later stages (splice, suggest, compact, cache, retry, breaker) have
//! their places between *validate* and *conform*, a retry with a limit for each attempt; [`Pipeline::standard`]
//! is the only list.

mod admit;
mod conform;
mod deadline;
mod observe;
mod validate;

use std::sync::Arc;

use async_trait::async_trait;

pub use observe::CALLS;

use crate::{call::Call, outcome::Outcome, source::SourceCall};

/// One step of the line.
#[async_trait]
pub trait Stage: Send + Sync {
    /// Does its part and hands the call on, or ends it.
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome;
}

/// The rest of the line. A stage that retries may run it more than once.
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
        let catalog = Arc::clone(&call.catalog);
        let entry = catalog.find(&call.name)?;
        entry.source.call(SourceCall { call, tool: &entry.spec, params: &entry.params }).await
    }
}

/// The list of stages.
pub struct Pipeline {
    stages: Vec<Arc<dyn Stage>>,
}

impl Pipeline {
    /// The stages of this host, outermost first.
    pub fn standard() -> Self {
        Self {
            stages: vec![
                Arc::new(observe::Observe),
                Arc::new(admit::Admit),
                Arc::new(deadline::Deadline),
                Arc::new(validate::Validate),
                Arc::new(conform::Conform),
            ],
        }
    }

    /// Takes a call down the line and its outcome back.
    pub async fn call(self: &Arc<Self>, call: &mut Call) -> Outcome {
        call.line = Some(Arc::clone(self));
        Next { stages: &self.stages }.run(call).await
    }
}

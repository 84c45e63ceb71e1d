//! Admits calls of tools that the caller's preset exposes. A hidden tool is as unknown as one that
//! does not exist, and the suggestion names only tools that are not hidden. A call that a tool makes may do
//! no more than that tool declares.

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{call::Call, outcome::Outcome};

/// See the module.
pub struct AdmitStage;

#[async_trait]
impl Stage for AdmitStage {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        let entry = call.context.entry()?;
        if let Some(ceiling) = &call.context.effect_limit {
            ceiling.admits(&entry.spec)?;
        }
        next.run(call).await
    }
}

//! Admits calls to tools that the preset exposes.
//!
//! A hidden tool gets the same fault as an unknown one, and suggestions name only visible tools. A nested call must not
//! exceed the declared effect of the calling tool.

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{Call, Outcome};

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

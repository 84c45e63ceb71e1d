//! Admits calls of tools that the caller's preset exposes. A hidden tool is as unknown as one that
//! does not exist, and the suggestion names only tools that are not hidden.

use async_trait::async_trait;

use super::{Next, Stage};
use crate::{call::Call, outcome::Outcome};

pub(super) struct Admit;

#[async_trait]
impl Stage for Admit {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        call.entry()?;
        next.run(call).await
    }
}

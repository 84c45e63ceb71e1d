//! The engine in memory: proof that the seam is all that an engine has to implement.

use std::sync::Arc;

use gatehouse_stores::{MemoryStore, WikiKnowledge};

use super::{Fixture, Setup};
use crate::{behaviours::behaviours, support::clock};

#[derive(Default)]
struct Memory(Arc<MemoryStore>);

impl Fixture for Memory {
    const NAME: &'static str = "memory";

    async fn fresh() -> Option<Self> {
        Some(Self::default())
    }

    fn open(&self, Setup { roots, default_root, embedder }: Setup) -> WikiKnowledge {
        WikiKnowledge::in_memory(&self.0, roots, default_root, clock(), embedder)
    }

    fn address(&self) -> String {
        "memory".to_owned()
    }
}

behaviours!(Memory);

//! The knowledge graph as hosts offer it: set up by the first call that needs it, and again by the next one where
//! that failed. What is wrong with it is its callers' matter alone; gates that need none of it serve meanwhile.

use std::{path::PathBuf, sync::OnceLock};

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        Knowledge,
        knowledge::{
            Changes, Draft, Filters, IndexOptions, IndexReport, Lookup, Neighbour, PatchReport, Progress,
            SearchResult, Statistics,
        },
    },
};
use gatehouse_stores::{Health, WikiKnowledge};

use crate::config::ConfigError;

type Make = Box<dyn Fn() -> Result<WikiKnowledge, ConfigError> + Send + Sync>;

/// A graph that is there, or why it is not.
pub(crate) struct Graph {
    make: Make,
    made: OnceLock<WikiKnowledge>,
}

impl Graph {
    pub(super) fn new(make: Make) -> Self {
        Self { make, made: OnceLock::new() }
    }

    /// The graph; the fault says what is wrong with its configuration.
    pub(crate) fn there(&self) -> Result<&WikiKnowledge, Fault> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        // Two may make it at once; nothing is opened by that, and one is kept.
        let made = (self.make)().map_err(|error| {
            Fault::unavailable(format!("The knowledge graph is not set up: {error}"))
                .hint("Whoever runs the host has to mend that; `gatehouse doctor` shows it.")
        })?;
        Ok(self.made.get_or_init(|| made))
    }

    /// How it is, without changing anything.
    pub(crate) async fn health(&self) -> Result<Health, Fault> {
        self.there()?.health().await
    }

    /// Ends the use of it for good.
    pub(crate) async fn close(&self) {
        if let Some(made) = self.made.get() {
            made.close().await;
        }
    }
}

#[async_trait]
impl Knowledge for Graph {
    async fn search(&self, query: &str, filters: &Filters, limit: usize) -> Result<SearchResult, Fault> {
        self.there()?.search(query, filters, limit).await
    }

    async fn page(&self, id_or_title: &str) -> Result<Lookup, Fault> {
        self.there()?.page(id_or_title).await
    }

    async fn neighbours(&self, id: &str) -> Result<Vec<Neighbour>, Fault> {
        self.there()?.neighbours(id).await
    }

    async fn upsert(&self, drafts: Vec<Draft>) -> Result<IndexReport, Fault> {
        self.there()?.upsert(drafts).await
    }

    async fn patch(
        &self,
        id: &str,
        changes: Changes,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        self.there()?.patch(id, changes, wiki_dir, stamp).await
    }

    async fn index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: Progress<'_>,
    ) -> Result<IndexReport, Fault> {
        self.there()?.index(root, options, progress).await
    }

    async fn stats(&self) -> Result<Statistics, Fault> {
        self.there()?.stats().await
    }
}

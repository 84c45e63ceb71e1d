//! Ports that are set up on first use. A failed setup is retried on the next use, and its error affects only callers of
//! the port.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, Principal,
    ports::{
        ArtifactService, DocumentReader, Embedder, KnowledgeGraph,
        artifacts::{
            Artifact, ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactHit, ArtifactPart,
            ArtifactSlice,
        },
        documents::{Document, DocumentSearchResult, LineRange, Repository, SearchMode},
        knowledge::{
            EngineStatistics, IndexOptions, IndexReport, OnPageProgress, PageChanges, PageDraft, PageFilters,
            PageLookup, PageNeighbor, PageSearchResult, PatchReport,
        },
    },
};
use gatehouse_stores::{
    ArtifactStore, DocumentLibrary, StoreHealth, WikiKnowledge,
};

use crate::config::{Config, ConfigError};

pub(crate) struct LazyPort<T> {
    /// Subject and verb for faults, such as "the artifacts are".
    subject: &'static str,
    config: Arc<Config>,
    embedder: Arc<dyn Embedder>,
    make: fn(&Config, &Arc<dyn Embedder>) -> Result<T, ConfigError>,
    made: OnceLock<T>,
}

pub(crate) type LazyGraph = LazyPort<WikiKnowledge>;

pub(crate) type LazyLibrary = LazyPort<DocumentLibrary>;

pub(crate) type LazyWorkspace = LazyPort<Arc<ArtifactStore>>;

impl<T> LazyPort<T> {
    pub(super) fn new(
        subject: &'static str,
        config: &Arc<Config>,
        embedder: &Arc<dyn Embedder>,
        make: fn(&Config, &Arc<dyn Embedder>) -> Result<T, ConfigError>,
    ) -> Self {
        let (config, embedder) = (Arc::clone(config), Arc::clone(embedder));
        Self { subject, config, embedder, make, made: OnceLock::new() }
    }

    /// Returns the port, set up if necessary. Fails if its configuration is invalid.
    pub(crate) fn get(&self) -> Result<&T, Fault> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        // Two callers can race. Building opens nothing, so drop the loser.
        let made = (self.make)(&self.config, &self.embedder).map_err(|error| {
            Fault::unavailable(format!("{} not set up: {error}", self.subject))
                .hint("Ask the host's operator to run `gatehouse doctor`.")
        })?;
        Ok(self.made.get_or_init(|| made))
    }
}

/// Implements a port: each call sets the port up if necessary, then forwards to it.
macro_rules! forward {
    ($lazy:ty: $port:ident, $health:ty { $(fn $name:ident($($arg:ident: $kind:ty),*) -> $reply:ty;)* }) => {
        impl $lazy {
            pub(crate) async fn health(&self) -> Result<$health, Fault> {
                self.get()?.health().await
            }

            pub(crate) async fn close(&self) {
                if let Some(made) = self.made.get() {
                    made.close().await;
                }
            }
        }

        #[async_trait]
        impl $port for $lazy {
            $(async fn $name(&self, $($arg: $kind),*) -> Result<$reply, Fault> {
                self.get()?.$name($($arg),*).await
            })*
        }
    };
}

forward!(LazyGraph: KnowledgeGraph, StoreHealth {
    fn search(query: &str, filters: &PageFilters, limit: usize) -> PageSearchResult;
    fn page(id_or_title: &str) -> PageLookup;
    fn neighbors(id: &str) -> Vec<PageNeighbor>;
    fn upsert(drafts: Vec<PageDraft>) -> IndexReport;
    fn patch(id: &str, changes: PageChanges, wiki_dir: Option<PathBuf>, stamp: bool) -> PatchReport;
    fn index(root: Option<PathBuf>, options: IndexOptions, progress: OnPageProgress<'_>) -> IndexReport;
    fn preview_upsert(drafts: Vec<PageDraft>) -> IndexReport;
    fn preview_patch(id: &str, changes: PageChanges, wiki_dir: Option<PathBuf>, stamp: bool) -> PatchReport;
    fn preview_index(root: Option<PathBuf>, options: IndexOptions, progress: OnPageProgress<'_>) -> IndexReport;
    fn stats() -> EngineStatistics;
});

forward!(LazyLibrary: DocumentReader, StoreHealth {
    fn repositories(guides: bool) -> Vec<Repository>;
    fn search(repository: &str, query: &str, mode: SearchMode, limit: usize) -> DocumentSearchResult;
    fn read(repository: &str, path: &str, lines: Option<LineRange>) -> Document;
});

forward!(LazyWorkspace: ArtifactService, StoreHealth {
    fn put(owner: &Principal, draft: ArtifactDraft) -> Artifact;
    fn info(owner: &Principal, ids: &[String]) -> Vec<Option<Artifact>>;
    fn read(owner: &Principal, id: &str, part: &ArtifactPart) -> ArtifactSlice;
    fn recent(owner: &Principal, filter: &ArtifactFilter, limit: usize) -> Vec<Artifact>;
    fn search(owner: &Principal, query: &str, limit: usize) -> Vec<ArtifactHit>;
    fn change(owner: &Principal, id: &str, changes: ArtifactChanges) -> Artifact;
    fn delete(owner: &Principal, id: &str) -> bool;
});

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
        ArtifactService, DocumentReader, KnowledgeGraph,
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
    ArtifactHealth, ArtifactStore, DocumentLibrary, KnowledgeHealth, LibraryHealth, WikiKnowledge,
};

use crate::config::ConfigError;

type PortFactory<T> = Box<dyn Fn() -> Result<T, ConfigError> + Send + Sync>;

pub(crate) struct LazyPort<T> {
    /// Subject and verb for faults, such as "the artifacts are".
    name: &'static str,
    make: PortFactory<T>,
    made: OnceLock<T>,
}

pub(crate) type LazyGraph = LazyPort<WikiKnowledge>;

pub(crate) type LazyLibrary = LazyPort<DocumentLibrary>;

pub(crate) type LazyWorkspace = LazyPort<Arc<ArtifactStore>>;

impl<T> LazyPort<T> {
    pub(super) fn new(
        name: &'static str,
        make: impl Fn() -> Result<T, ConfigError> + Send + Sync + 'static,
    ) -> Self {
        Self { name, make: Box::new(make), made: OnceLock::new() }
    }

    /// Returns the port, set up if necessary. Fails if its configuration is invalid.
    pub(crate) fn get(&self) -> Result<&T, Fault> {
        if let Some(made) = self.made.get() {
            return Ok(made);
        }
        // Two callers can race. Building opens nothing, so drop the loser.
        let made = (self.make)().map_err(|error| {
            Fault::unavailable(format!("{} not set up: {error}", self.name))
                .hint("Ask the host's operator to run `gatehouse doctor`.")
        })?;
        Ok(self.made.get_or_init(|| made))
    }
}

impl LazyGraph {
    pub(crate) async fn health(&self) -> Result<KnowledgeHealth, Fault> {
        self.get()?.health().await
    }

    pub(crate) async fn close(&self) {
        if let Some(made) = self.made.get() {
            made.close().await;
        }
    }
}

impl LazyLibrary {
    pub(crate) async fn health(&self) -> Result<LibraryHealth, Fault> {
        self.get()?.health().await
    }

    pub(crate) async fn close(&self) {
        if let Some(made) = self.made.get() {
            made.close().await;
        }
    }
}

impl LazyWorkspace {
    pub(crate) async fn health(&self) -> Result<ArtifactHealth, Fault> {
        self.get()?.health().await
    }

    pub(crate) async fn close(&self) {
        if let Some(made) = self.made.get() {
            made.close().await;
        }
    }
}

#[async_trait]
impl KnowledgeGraph for LazyGraph {
    async fn search(
        &self,
        query: &str,
        filters: &PageFilters,
        limit: usize,
    ) -> Result<PageSearchResult, Fault> {
        self.get()?.search(query, filters, limit).await
    }

    async fn page(&self, id_or_title: &str) -> Result<PageLookup, Fault> {
        self.get()?.page(id_or_title).await
    }

    async fn neighbors(&self, id: &str) -> Result<Vec<PageNeighbor>, Fault> {
        self.get()?.neighbors(id).await
    }

    async fn upsert(&self, drafts: Vec<PageDraft>) -> Result<IndexReport, Fault> {
        self.get()?.upsert(drafts).await
    }

    async fn patch(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        self.get()?.patch(id, changes, wiki_dir, stamp).await
    }

    async fn index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
    ) -> Result<IndexReport, Fault> {
        self.get()?.index(root, options, progress).await
    }

    async fn preview_upsert(&self, drafts: Vec<PageDraft>) -> Result<IndexReport, Fault> {
        self.get()?.preview_upsert(drafts).await
    }

    async fn preview_patch(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        self.get()?.preview_patch(id, changes, wiki_dir, stamp).await
    }

    async fn preview_index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
    ) -> Result<IndexReport, Fault> {
        self.get()?.preview_index(root, options, progress).await
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        self.get()?.stats().await
    }
}

#[async_trait]
impl DocumentReader for LazyLibrary {
    async fn repositories(&self, guides: bool) -> Result<Vec<Repository>, Fault> {
        self.get()?.repositories(guides).await
    }

    async fn search(
        &self,
        repository: &str,
        query: &str,
        mode: SearchMode,
        limit: usize,
    ) -> Result<DocumentSearchResult, Fault> {
        self.get()?.search(repository, query, mode, limit).await
    }

    async fn read(&self, repository: &str, path: &str, lines: Option<LineRange>) -> Result<Document, Fault> {
        self.get()?.read(repository, path, lines).await
    }
}

#[async_trait]
impl ArtifactService for LazyWorkspace {
    async fn put(&self, owner: &Principal, draft: ArtifactDraft) -> Result<Artifact, Fault> {
        self.get()?.put(owner, draft).await
    }

    async fn info(&self, owner: &Principal, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        self.get()?.info(owner, ids).await
    }

    async fn read(&self, owner: &Principal, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        self.get()?.read(owner, id, part).await
    }

    async fn recent(
        &self,
        owner: &Principal,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        self.get()?.recent(owner, filter, limit).await
    }

    async fn search(&self, owner: &Principal, query: &str, limit: usize) -> Result<Vec<ArtifactHit>, Fault> {
        self.get()?.search(owner, query, limit).await
    }

    async fn change(&self, owner: &Principal, id: &str, changes: ArtifactChanges) -> Result<Artifact, Fault> {
        self.get()?.change(owner, id, changes).await
    }

    async fn delete(&self, owner: &Principal, id: &str) -> Result<bool, Fault> {
        self.get()?.delete(owner, id).await
    }
}

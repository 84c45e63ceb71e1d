//! The knowledge graph. Engines implement [`KnowledgeGraph`]; its types are in [`crate::page`].

use std::path::PathBuf;

use async_trait::async_trait;

use crate::Fault;
pub use crate::page::*;

/// Options for indexing a wiki directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// True to remove all stored pages first, from any source.
    pub clear_existing: bool,
    /// True to remove them even if no directory can restore them. Otherwise such pages cause a fault that names them.
    pub accept_loss: bool,
    pub persist_path: Option<PathBuf>,
}

/// Whether a write changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    Apply,
    /// Everything is checked and reported, but nothing changes.
    Preview,
}

/// A callback for indexing progress: (pages done, total pages).
pub type OnPageProgress<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

/// The knowledge graph.
///
/// Methods fail with `unavailable` and the engine's name and address if it is unreachable. An empty result is never a
/// fault.
#[async_trait]
pub trait KnowledgeGraph: Send + Sync {
    /// Finds pages. Any text is a valid query; `limit` is at least 1.
    async fn search(
        &self,
        query: &str,
        filters: &PageFilters,
        limit: usize,
    ) -> Result<PageSearchResult, Fault>;

    /// Looks up a page by id or title. `_` matches a space.
    async fn page(&self, id_or_title: &str) -> Result<PageLookup, Fault>;

    /// Returns pages one link away. Empty if the page does not exist.
    async fn neighbors(&self, id: &str) -> Result<Vec<PageNeighbor>, Fault>;

    /// Writes pages atomically.
    async fn write(&self, drafts: Vec<PageDraft>, mode: WriteMode) -> Result<IndexReport, Fault>;

    /// Changes a page and its wiki file. `stamp` sets its date to now.
    async fn edit(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
        mode: WriteMode,
    ) -> Result<PatchReport, Fault>;

    /// Makes the stored pages of a wiki directory equal to the directory. Atomic: a failure changes nothing.
    async fn index_wiki(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
        mode: WriteMode,
    ) -> Result<IndexReport, Fault>;

    async fn stats(&self) -> Result<EngineStatistics, Fault>;

    /// Applies [`KnowledgeGraph::write`].
    async fn upsert(&self, drafts: Vec<PageDraft>) -> Result<IndexReport, Fault> {
        self.write(drafts, WriteMode::Apply).await
    }

    /// Applies [`KnowledgeGraph::edit`].
    async fn patch(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        self.edit(id, changes, wiki_dir, stamp, WriteMode::Apply).await
    }

    /// Applies [`KnowledgeGraph::index_wiki`].
    async fn index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
    ) -> Result<IndexReport, Fault> {
        self.index_wiki(root, options, progress, WriteMode::Apply).await
    }
}

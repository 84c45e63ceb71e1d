//! The knowledge graph as the host sees it. Engines implement [`KnowledgeGraph`]; its nouns are in
//! [`crate::page`].

use std::path::PathBuf;

use async_trait::async_trait;

use crate::outcome::Fault;
pub use crate::page::*;

/// How to index a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexOptions {
    /// Remove every stored page first, from wherever it came.
    pub clear_existing: bool,
    /// Remove them even where no folder brings them back; without it, such pages are a fault that names them.
    pub accept_loss: bool,
    /// Write an index file here afterwards.
    pub persist_path: Option<PathBuf>,
}

/// Hears how far a long indexing run has come: (pages done, pages in all).
pub type OnPageProgress<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

/// The knowledge graph. Every method faults with `unavailable` and the engine's name and address when
/// the engine cannot be reached; "nothing found" is never a fault.
#[async_trait]
pub trait KnowledgeGraph: Send + Sync {
    /// Finds pages. Any text is a valid query; `limit` is at least 1.
    async fn search(
        &self,
        query: &str,
        filters: &PageFilters,
        limit: usize,
    ) -> Result<PageSearchResult, Fault>;

    /// One page by id or title; `_` and space are the same.
    async fn page(&self, id_or_title: &str) -> Result<PageLookup, Fault>;

    /// Pages one link away; empty where there is no such page.
    async fn neighbors(&self, id: &str) -> Result<Vec<PageNeighbor>, Fault>;

    /// Writes pages, all or none.
    async fn upsert(&self, drafts: Vec<PageDraft>) -> Result<IndexReport, Fault>;

    /// Changes a page and the wiki file it came from; with `stamp` its date becomes now.
    async fn patch(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault>;

    /// Makes the stored pages of a wiki folder equal to the folder. All or nothing: a failure in the
    /// middle leaves the pages as they were.
    async fn index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
    ) -> Result<IndexReport, Fault>;

    /// Reports what [`KnowledgeGraph::upsert`] would do, and changes nothing.
    async fn preview_upsert(&self, drafts: Vec<PageDraft>) -> Result<IndexReport, Fault>;

    /// Reports what [`KnowledgeGraph::patch`] would do, and changes nothing.
    async fn preview_patch(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault>;

    /// Reports what [`KnowledgeGraph::index`] would do: reads the folder, and changes nothing.
    async fn preview_index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
    ) -> Result<IndexReport, Fault>;

    /// Counts.
    async fn stats(&self) -> Result<EngineStatistics, Fault>;
}

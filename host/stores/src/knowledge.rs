//! The knowledge port: a wiki on an engine. Paths are checked, folders read and edits made here, once for
//! every engine; an engine stores and finds.

mod changed_files;
mod copy;
mod index;
mod linked;
mod patch;
mod plan;
mod replace;
mod search;
mod store;
mod unfinished_edits;
mod write;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{
        Clock, Embedder, KnowledgeGraph,
        knowledge::{
            EngineStatistics, IndexOptions, IndexReport, KnowledgePage, OnPageProgress, PageChanges,
            PageDraft, PageFilters, PageLookup, PageNeighbor, PageSearchResult, PatchReport,
        },
    },
};

#[cfg(feature = "postgres")]
use crate::postgres::{PostgresConfig, knowledge::PostgresEngine};
#[cfg(feature = "weaviate-neo4j")]
use crate::weaviate_neo4j::{WeaviateNeo4jConfig, WeaviateNeo4jEngine};
use crate::{
    embedding::EmbeddingTask,
    engine::{EmbeddingHealth, EngineHealth, KnowledgeHealth, PageEngine, PageScope},
    nearest::nearest,
    sqlite::knowledge::SqliteEngine,
    wiki::{WikiRoots, ids, stamp},
};

use changed_files::FileChangeTracker;
pub use linked::LinkedPage;
use search::PageTexts;

/// Effect of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteMode {
    /// Store and files change.
    Apply,
    /// Everything is checked and reported; nothing changes.
    Preview,
}

/// Where the knowledge graph is, and what may be touched for it.
#[derive(Debug, Clone)]
pub struct KnowledgeConfig {
    /// The database file; it and its folder are made on first use.
    pub database: PathBuf,
    /// Wiki folders that may be read and written.
    pub roots: WikiRoots,
    /// The wiki that is meant where none is named (the one of `KG_INDEX_PATH`); it may be touched too.
    pub default_root: Option<PathBuf>,
}

/// A knowledge graph made of wiki pages.
pub struct WikiKnowledge {
    engine: Arc<dyn PageEngine>,
    embedding: Option<EmbeddingTask>,
    roots: WikiRoots,
    default_root: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    newer: Arc<FileChangeTracker>,
}

impl WikiKnowledge {
    /// On SQLite. Opens nothing before the first call that needs it. With an embedder pages are found by meaning
    /// too; calls have to be made inside a Tokio runtime, where their vectors are made in the background.
    pub fn sqlite(
        config: KnowledgeConfig,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let KnowledgeConfig { database, roots, default_root } = config;
        Self::with_engine(Arc::new(SqliteEngine::new(database)), (roots, default_root), clock, embedder)
    }

    /// On a PostgreSQL server. Reaches nothing before the first call that needs it; for the rest as
    /// [`WikiKnowledge::sqlite`].
    #[cfg(feature = "postgres")]
    pub fn postgres(
        server: PostgresConfig,
        roots: WikiRoots,
        default_root: Option<PathBuf>,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self::with_engine(Arc::new(PostgresEngine::new(server)), (roots, default_root), clock, embedder)
    }

    /// On Neo4j, with Weaviate to search in. Reaches nothing before the first call that needs it; for the rest as
    /// [`WikiKnowledge::sqlite`].
    ///
    /// # Errors
    /// `invalid-arguments`, where an address cannot be used, naming its variable.
    #[cfg(feature = "weaviate-neo4j")]
    pub fn weaviate_neo4j(
        servers: &WeaviateNeo4jConfig,
        roots: WikiRoots,
        default_root: Option<PathBuf>,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self, Fault> {
        let engine = Arc::new(WeaviateNeo4jEngine::new(servers)?);
        Ok(Self::with_engine(engine, (roots, default_root), clock, embedder))
    }

    fn with_engine(
        engine: Arc<dyn PageEngine>,
        (roots, default_root): (WikiRoots, Option<PathBuf>),
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let roots = roots.with_root(default_root.as_deref());
        let embedding = embedder.map(|embedder| {
            let texts = Arc::new(PageTexts(Arc::clone(&engine)));
            EmbeddingTask::new(embedder, engine.vectors(), texts)
        });
        Self { engine, embedding, roots, default_root, clock, newer: Arc::default() }
    }

    /// Whether the engine can be reached, its schema and how much it holds; changes nothing there.
    ///
    /// # Errors
    /// `unavailable`, naming the engine, its address and the cause.
    pub async fn health(&self) -> Result<KnowledgeHealth, Fault> {
        let embedding = self.embedding.as_ref();
        let model = embedding.map(EmbeddingTask::vectors);
        let engine = self.engine.health(model.as_ref()).await?;
        let embedding = embedding.map(|embedding| EmbeddingHealth {
            model: embedding.model().to_owned(),
            waiting: engine.without_vector,
            failing: engine.no_vectors.or_else(|| embedding.failing()),
        });
        let EngineHealth { address, schema, pages, waiting, .. } = engine;
        Ok(KnowledgeHealth { engine: self.engine.name(), address, schema, pages, waiting, embedding })
    }

    /// The ids of all pages, sorted.
    ///
    /// # Errors
    /// `unavailable`, naming the engine, its address and the cause.
    pub async fn ids(&self) -> Result<Vec<String>, Fault> {
        Ok(self.engine.heads(&PageScope::All).await?.into_iter().map(|page| page.id).collect())
    }

    /// Waits until every stored page has its vector, for processes that end when their work is done. False where
    /// the model fails or it takes longer than this; the rest is made up for by whoever opens the database next.
    pub async fn wait_for_vectors(&self, limit: Duration) -> bool {
        match &self.embedding {
            Some(embedding) => {
                embedding.wait_for_vectors(limit).await && self.engine.wait_until_searchable(limit).await
            }
            None => self.engine.wait_until_searchable(limit).await,
        }
    }

    /// Ends the use of the graph for good, for hosts and commands that stop; a database in a file is then whole in it.
    pub async fn close(&self) {
        if let Some(embedding) = &self.embedding {
            embedding.stop();
        }
        self.engine.close().await;
    }

    fn now(&self) -> String {
        stamp(self.clock.now_ms())
    }

    /// The page that an id or a title names, and the ids of the others with that title. An id is preferred to a title;
    /// of several pages with one title the first by id is meant.
    async fn lookup(&self, text: &str) -> Result<Option<(KnowledgePage, Vec<String>)>, Fault> {
        let mut ids = vec![text.to_owned()];
        ids.extend(ids::split_loose(text).map(|(kind, name)| ids::join(kind, name)));
        if let Some(page) = self.engine.pages(&ids).await?.into_iter().flatten().next() {
            return Ok(Some((page, Vec::new())));
        }
        let mut titled = self.engine.ids_by_title(text).await?;
        let Some(id) = titled.first().cloned() else { return Ok(None) };
        titled.remove(0);
        let page = self.engine.pages(&[id]).await?.pop().flatten();
        Ok(page.map(|page| (page, titled)))
    }
}

#[async_trait]
impl KnowledgeGraph for WikiKnowledge {
    async fn search(
        &self,
        query: &str,
        filters: &PageFilters,
        limit: usize,
    ) -> Result<PageSearchResult, Fault> {
        let unknown_domains = self.unknown_domains(&filters.domains).await?;
        let result = self.find(query, filters, limit.max(1)).await?;
        // Not at the same time: a search that is given up must leave nothing behind on the engine.
        let newer = self.newer_files().await;
        let notes: Vec<String> = result.note.into_iter().chain(newer).collect();
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        Ok(PageSearchResult { unknown_domains, note, ..result })
    }

    async fn page(&self, id_or_title: &str) -> Result<PageLookup, Fault> {
        if let Some((page, namesakes)) = self.lookup(id_or_title).await? {
            let page = self.with_unfinished_edit(page).await?;
            return Ok(PageLookup::Found { page: Box::new(page), namesakes });
        }
        Ok(PageLookup::Missing(nearest(id_or_title, &self.engine.heads(&PageScope::All).await?)))
    }

    async fn neighbors(&self, id: &str) -> Result<Vec<PageNeighbor>, Fault> {
        let page = self.engine.pages(&[id.to_owned()]).await?.pop().flatten();
        Ok(page.map(|page| page.neighbours).unwrap_or_default())
    }

    async fn upsert(&self, drafts: Vec<PageDraft>) -> Result<IndexReport, Fault> {
        self.write_pages(drafts, WriteMode::Apply).await
    }

    async fn patch(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        self.patch_page(id, &changes, wiki_dir, stamp, WriteMode::Apply).await
    }

    async fn index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
    ) -> Result<IndexReport, Fault> {
        self.index_folder(root, options, progress, WriteMode::Apply).await
    }

    async fn preview_upsert(&self, drafts: Vec<PageDraft>) -> Result<IndexReport, Fault> {
        self.write_pages(drafts, WriteMode::Preview).await
    }

    async fn preview_patch(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        self.patch_page(id, &changes, wiki_dir, stamp, WriteMode::Preview).await
    }

    async fn preview_index(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
    ) -> Result<IndexReport, Fault> {
        self.index_folder(root, options, progress, WriteMode::Preview).await
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        self.engine.stats().await
    }
}

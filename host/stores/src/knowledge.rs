//! The knowledge graph: a wiki on an engine. Checks paths, reads directories and makes edits.

mod changed_files;
mod export;
mod index;
pub(crate) mod pages;
mod patch;
mod plan;
mod replace;
mod search;
mod store;
mod write;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{
        Clock, Embedder, KnowledgeGraph,
        knowledge::{
            EngineStatistics, IndexOptions, IndexReport, KnowledgePage, OnPageProgress, PageChanges,
            PageDraft, PageFilters, PageLookup, PageNeighbor, PageSearchResult, PatchReport, WriteMode,
        },
    },
    utc_time,
};

#[cfg(feature = "postgres")]
use crate::sql::postgres::{PostgresConfig, PostgresServer, ServerTables};
#[cfg(feature = "weaviate-neo4j")]
use crate::weaviate_neo4j::{WeaviateNeo4jConfig, WeaviateNeo4jEngine};
use crate::{
    embedding::EmbeddingTask,
    engine::{PageEngine, PageScope, StoreHealth},
    nearest::nearest,
    sql::Database,
    sql::sqlite::SqliteDatabase,
    wiki::{WikiRoots, ids},
};

use changed_files::FileChangeTracker;
pub use export::LinkedPage;
use pages::PageTables;
use search::PageTexts;

#[derive(Debug, Clone)]
pub struct KnowledgeConfig {
    /// Database file. The first use creates it and its directory.
    pub database: PathBuf,
    pub roots: WikiRoots,
    /// Default wiki directory (`KG_INDEX_PATH`), which is always allowed.
    pub default_root: Option<PathBuf>,
}

pub struct WikiKnowledge {
    engine: Arc<dyn PageEngine>,
    embedding: EmbeddingTask,
    roots: WikiRoots,
    default_root: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    newer: Arc<FileChangeTracker>,
}

impl WikiKnowledge {
    /// Creates a graph in a SQLite file that the first call opens. With an embedder, search also compares meaning;
    /// calls then need a Tokio runtime for the embedding task.
    pub fn sqlite(
        config: KnowledgeConfig,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let KnowledgeConfig { database, roots, default_root } = config;
        let db = Database::Sqlite(Arc::new(SqliteDatabase::new(&pages::schema::FILE, database)));
        Self::with_engine(Arc::new(PageTables::new(db)), (roots, default_root), clock, embedder)
    }

    /// Creates a graph on a PostgreSQL server. The first call connects.
    #[cfg(feature = "postgres")]
    pub fn postgres(
        server: PostgresConfig,
        roots: WikiRoots,
        default_root: Option<PathBuf>,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let tables = ServerTables::Own(pages::schema::PART);
        let server = PostgresServer::new("knowledge engine 'postgres'", server, tables);
        let engine = Arc::new(PageTables::new(Database::Postgres(server)));
        Self::with_engine(engine, (roots, default_root), clock, embedder)
    }

    /// Creates a graph on Neo4j, with Weaviate as its search index. The first call connects.
    ///
    /// # Errors
    /// `invalid-arguments` for an unusable address, naming its variable.
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
        let texts = Arc::new(PageTexts(Arc::clone(&engine)));
        let embedding = EmbeddingTask::new(embedder, engine.vectors(), texts);
        Self { engine, embedding, roots, default_root, clock, newer: Arc::default() }
    }

    /// Checks the connection and returns the schema version and counts. Changes nothing.
    pub async fn health(&self) -> Result<StoreHealth, Fault> {
        Ok(self.embedding.add_health(self.engine.health(self.embedding.model().as_ref()).await?))
    }

    /// Returns the sorted ids of all pages.
    pub async fn ids(&self) -> Result<Vec<String>, Fault> {
        Ok(self.engine.heads(&PageScope::All).await?.into_iter().map(|page| page.id).collect())
    }

    /// Waits until every stored page has a vector and is searchable. Returns false on failure or timeout.
    pub async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.embedding.wait_for_vectors(limit).await
    }

    /// Closes the graph permanently and checkpoints a database file.
    pub async fn close(&self) {
        self.embedding.stop().await;
        self.engine.close().await;
    }

    fn now(&self) -> String {
        utc_time::page_timestamp(self.clock.now_ms())
    }

    /// Returns the page with this id or title, and the ids of other pages with the same title. Ids take precedence over
    /// titles; of several titles, the first by id wins.
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
        // Sequential on purpose: a canceled search must leave no work behind on the engine.
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

    async fn write(&self, drafts: Vec<PageDraft>, mode: WriteMode) -> Result<IndexReport, Fault> {
        self.write_pages(drafts, mode).await
    }

    async fn edit(
        &self,
        id: &str,
        changes: PageChanges,
        wiki_dir: Option<PathBuf>,
        stamp: bool,
        mode: WriteMode,
    ) -> Result<PatchReport, Fault> {
        self.patch_page(id, &changes, wiki_dir, stamp, mode).await
    }

    async fn index_wiki(
        &self,
        root: Option<PathBuf>,
        options: IndexOptions,
        progress: OnPageProgress<'_>,
        mode: WriteMode,
    ) -> Result<IndexReport, Fault> {
        self.index_folder(root, options, progress, mode).await
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        self.engine.stats().await
    }
}

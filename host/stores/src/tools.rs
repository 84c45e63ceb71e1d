//! Tool catalog of the connected servers, stored in SQLite or PostgreSQL and searched in memory. Several hosts can share
//! it: each reads the records whose generation has changed.
//!
//! Longer than 300 lines because it has every method of the trait.

mod catalog;
mod category;
mod current;
mod file;
mod record;
mod schema;
mod tables;

pub(crate) use self::schema::FILE;
#[cfg(feature = "postgres")]
use self::schema::PART;
use self::{
    catalog::Catalog,
    current::{CurrentTools, ToolDatabase},
    record::ServerRecord,
};

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, lock,
    ports::{
        Clock, Embedder, ToolIndex,
        servers::RefreshReport,
        tool_index::{
            DeclaredEffect, IndexedListing, KnownListing, PendingChange, ToolFilter, ToolHit,
            ToolSearchRequest, ToolSearchResult,
        },
    },
    search::{
        RowSet,
        tools::{ToolQuery, ToolSearch, ToolSegments, embedded_tool, query_parts},
    },
};
use tokio::time::Instant;

#[cfg(feature = "postgres")]
use crate::sql::{
    Database,
    postgres::{PostgresConfig, PostgresServer, ServerTables},
};
use crate::{
    embedding::{EmbeddingTask, TextSource, words_only_note},
    sql::Session,
};

/// Returns the key of a tool. Server names contain no line feed, so keys are unique.
pub(crate) fn key(server: &str, tool: &str) -> String {
    format!("{server}\n{tool}")
}

pub struct ToolCatalogStore {
    tools: Arc<CachedTools>,
    embedding: EmbeddingTask,
    clock: Arc<dyn Clock>,
}

impl ToolCatalogStore {
    /// Creates a catalog in a SQLite file that the first call opens. With an embedder, search also compares meaning;
    /// calls then need a Tokio runtime for the embedding task.
    pub fn sqlite(database: PathBuf, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self::new(CurrentTools::in_file(database), clock, embedder)
    }

    /// Creates a catalog in tables of a server, which several hosts can share. While the server cannot be reached, tools
    /// are served as they were last read.
    #[cfg(feature = "postgres")]
    pub fn postgres(
        server: PostgresConfig,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let server = PostgresServer::new("tool catalog 'postgres'", server, ServerTables::Own(PART));
        Self::new(CurrentTools::new(Database::Postgres(server), None), clock, embedder)
    }

    fn new(store: Arc<CurrentTools>, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let tools = Arc::new(CachedTools {
            store: Arc::clone(&store),
            state: Mutex::default(),
            reading: tokio::sync::Mutex::default(),
        });
        let embedding = EmbeddingTask::new(embedder, store, Arc::clone(&tools) as _);
        Self { tools, embedding, clock }
    }

    /// Waits until all stored tools have vectors. Returns false on failure or timeout, and true without an embedder.
    pub async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.embedding.wait_for_vectors(limit).await
    }

    pub async fn close(&self) {
        self.embedding.stop().await;
        self.tools.store.close().await;
    }

    /// Returns the similarity of each tool to a question, and a note if the model or the engine failed. If it `waits`, it
    /// waits for vectors of new tools, at most [`MAX_VECTOR_WAIT`].
    async fn cosines(
        &self,
        catalog: &Catalog,
        question: &str,
        waits: bool,
    ) -> (Vec<Option<f32>>, Option<String>) {
        let (vector, reason) = self.embedding.embed_question(question).await;
        let Some(vector) = vector else { return (Vec::new(), reason) };
        let cosines = async || {
            let vector = vector.clone();
            let read =
                async move |db: Session<'_>, opened: &ToolDatabase| opened.vectors.cosines(db, &vector).await;
            match self.tools.store.read(read).await {
                Ok((cosines, reason)) => (cosines, reason.map(|reason| words_only_note(&reason))),
                Err(fault) => (HashMap::new(), Some(words_only_note(&fault.message))),
            }
        };
        let (mut near, mut note) = cosines().await;
        if near.len() < catalog.len() && waits {
            // A server was just listed, another process ended before it had embedded its tools, or the database has no
            // extension for vectors yet, which storing the first one creates.
            self.embedding.wait_for_vectors(MAX_VECTOR_WAIT).await;
            (near, note) = cosines().await;
        }
        (catalog.cosines(&near), note)
    }
}

#[async_trait]
impl ToolIndex for ToolCatalogStore {
    async fn put(&self, listing: IndexedListing, force: bool) -> Result<RefreshReport, Fault> {
        let report = self.tools.store.put(listing, self.clock.now_ms(), force).await;
        self.tools.changed();
        let report = report?;
        if report.embeddings > 0 {
            self.embedding.wake();
        }
        Ok(report)
    }

    async fn known(&self, server: &str) -> Result<Option<KnownListing>, Fault> {
        let catalog = self.tools.catalog(CACHE_TTL).await?;
        Ok(catalog.servers.get(server).map(|server| server.known.clone()))
    }

    async fn forget(&self, server: &str) -> Result<(), Fault> {
        let forgotten = self.tools.store.forget(server).await;
        self.tools.changed();
        forgotten
    }

    async fn connection_start(&self, server: &str) -> Result<Option<String>, Fault> {
        let server = server.to_owned();
        let read = async move |db: Session<'_>, _: &ToolDatabase| tables::connection_start(db, &server).await;
        self.tools.store.read(read).await
    }

    async fn set_connection_start(&self, server: &str, start: Option<String>) -> Result<(), Fault> {
        let name = server.to_owned();
        let write = async move |db: Session<'_>| tables::set_connection_start(db, &name, start).await;
        self.tools.store.write(server, write).await
    }

    async fn search(
        &self,
        question: &ToolSearchRequest,
        may_find: ToolFilter<'_>,
    ) -> Result<ToolSearchResult, Fault> {
        let catalog = self.tools.catalog(Duration::ZERO).await?;
        catalog.index().await?;
        let mut texts = Vec::new();
        let mut note = None;
        for part in query_parts(&question.query) {
            let (cosines, failure) = self.cosines(&catalog, &part.embedded(), texts.is_empty()).await;
            texts.push(ToolQuery { part, cosines });
            if failure.is_some() {
                // The model failed, so do not call it for the other parts.
                texts.truncate(1);
                note = failure;
                break;
            }
        }
        let tools = ToolSegments::new(catalog.segments());
        let indexed_tools: Vec<_> = tools.iter().collect();
        let quarantined = catalog.quarantined();
        let allowed: RowSet = (0..indexed_tools.len())
            .filter(|place| !quarantined.contains(*place) && may_find(&indexed_tools[*place].id))
            .collect();
        let result = tools.search(&ToolSearch {
            queries: &texts,
            allowed: &allowed,
            limit: question.limit,
            min_score: question.min_score,
        });
        let hits = result.tools.into_iter().map(|hit| {
            let tool = indexed_tools[hit.tool];
            ToolHit { id: tool.id.clone(), spec: Arc::clone(&tool.spec), score: hit.score, fit: hit.fit }
        });
        Ok(ToolSearchResult { hits: hits.collect(), unmatched_terms: result.unmatched_terms, note })
    }

    async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        let read = async |db: Session<'_>, _: &ToolDatabase| tables::pending_changes(db).await;
        self.tools.store.read(read).await
    }

    async fn approve(&self, server: &str, tool: &str, digest: &str) -> Result<bool, Fault> {
        let [name, tool, digest] = [server, tool, digest].map(str::to_owned);
        let approved =
            self.tools.store.decide(server, move |record| record.approve(&name, &tool, &digest)).await;
        self.tools.changed();
        approved
    }

    async fn declare_effects(&self, server: &str, declared: Vec<DeclaredEffect>) -> Result<bool, Fault> {
        let declared = self.tools.store.decide(server, move |record| record.declare_effects(&declared)).await;
        self.tools.changed();
        declared
    }

    async fn drop_declared_effects(&self, server: &str) -> Result<(), Fault> {
        let drop_all = |record: &mut ServerRecord| {
            record.drop_declared_effects();
            Ok(true)
        };
        let dropped = self.tools.store.change(server, drop_all).await;
        self.tools.changed();
        dropped.map(drop)
    }

    async fn generation(&self) -> Result<i64, Fault> {
        Ok(self.tools.catalog(Duration::ZERO).await?.generation)
    }
}

/// Limit for the wait of a search for vectors of tools that are new.
const MAX_VECTOR_WAIT: Duration = Duration::from_secs(2);

/// Age at which the cache checks for changes by other processes, too short to notice after an approval in a shell.
const CACHE_TTL: Duration = Duration::from_millis(500);

/// The tools as last read, because reading a definition from the store takes longer than many servers take to answer.
struct CachedTools {
    store: Arc<CurrentTools>,
    state: Mutex<CachedCatalog>,
    /// Held during a read. The others wait for its result.
    reading: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct CachedCatalog {
    catalog: Arc<Catalog>,
    /// When the last read of the store began. `None` after a change by this process.
    checked: Option<Instant>,
    /// Number of changes by this process.
    changes: u64,
    /// True if the store could not be read when last asked.
    is_outdated: bool,
}

impl CachedTools {
    /// Returns the catalog as it was at most `max_age` ago, or as it was last read if the store cannot be read.
    async fn catalog(&self, max_age: Duration) -> Result<Arc<Catalog>, Fault> {
        let fault = match self.read(max_age).await {
            Ok(catalog) => return Ok(catalog),
            Err(fault) => fault,
        };
        let mut state = lock(&self.state);
        if state.catalog.generation == 0 {
            return Err(fault);
        }
        if !std::mem::replace(&mut state.is_outdated, true) {
            tracing::warn!("tools are served as they were last read: {}", fault.in_one_line());
        }
        Ok(Arc::clone(&state.catalog))
    }

    /// Returns the catalog as it was at most `max_age` ago.
    async fn read(&self, max_age: Duration) -> Result<Arc<Catalog>, Fault> {
        let asked = Instant::now();
        let oldest = asked.checked_sub(max_age).unwrap_or(asked);
        let current = || {
            let state = lock(&self.state);
            state.checked.filter(|checked| *checked >= oldest).map(|_| Arc::clone(&state.catalog))
        };
        if let Some(catalog) = current() {
            return Ok(catalog);
        }
        let _turn = self.reading.lock().await;
        if let Some(catalog) = current() {
            return Ok(catalog);
        }
        let began = Instant::now();
        let (before, changes) = {
            let state = lock(&self.state);
            (Arc::clone(&state.catalog), state.changes)
        };
        let known = Arc::clone(&before);
        let read = async move |db: Session<'_>, opened: &ToolDatabase| {
            tables::catalog(db, &known, |within| opened.generation(within)).await
        };
        let catalog = self.store.read(read).await?.map_or(before, Arc::new);
        let mut state = lock(&self.state);
        let old = std::mem::replace(&mut state.catalog, Arc::clone(&catalog));
        // The store may have changed after the read.
        state.checked = (state.changes == changes).then_some(began);
        state.is_outdated = false;
        drop(state);
        // Frees many definitions, for which nobody should wait.
        drop(old);
        Ok(catalog)
    }

    /// Must be called after each change by this process.
    fn changed(&self) {
        let mut state = lock(&self.state);
        state.changes += 1;
        state.checked = None;
    }
}

#[async_trait]
impl TextSource for CachedTools {
    async fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let catalog = self.read(Duration::ZERO).await?;
        let text = |key: &String| {
            let (server, name) = key.split_once('\n')?;
            Some(embedded_tool(catalog.servers.get(server)?.spec(name)?))
        };
        Ok(keys.iter().map(text).collect())
    }
}

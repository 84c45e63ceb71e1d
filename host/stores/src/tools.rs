//! Tool catalog of the connected servers, stored in SQLite and searched in memory. A search reloads it if its
//! generation has changed, so several hosts can share one file.
//!
//! Longer than 300 lines because it has every method of the trait.

mod catalog;
mod current;
mod file;
mod read;
mod review;
mod schema;
mod write;

use self::current::SqliteTools;
pub(crate) use self::schema::FILE;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
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
        tools::{ToolQuery, ToolSearch, ToolSegment, ToolSegments, embedded_tool, query_parts},
    },
};
use tokio::time::Instant;

use crate::{
    embedding::{EmbeddingTask, TextSource},
    worker::run_blocking,
};

/// Returns the key of a tool. Server names contain no line feed, so keys are unique.
pub(crate) fn key(server: &str, tool: &str) -> String {
    format!("{server}\n{tool}")
}

pub struct ToolCatalogStore {
    store: Arc<SqliteTools>,
    embedding: EmbeddingTask,
    clock: Arc<dyn Clock>,
    snapshot: Mutex<Option<Arc<ToolSnapshot>>>,
    cache: ListingCache,
}

/// All tools at one generation of the store.
struct ToolSnapshot {
    generation: i64,
    segments: Vec<ToolSegment>,
    /// Row number of each tool, by its position in the snapshot.
    rows: Vec<i64>,
    positions: HashMap<i64, usize>,
    /// Places of quarantined tools.
    quarantined: RowSet,
}

impl ToolCatalogStore {
    /// Creates a catalog in a SQLite file that the first call opens. With an embedder, search also compares meaning;
    /// calls then need a Tokio runtime for the embedding task.
    pub fn sqlite(database: PathBuf, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let store = SqliteTools::new(database);
        let texts = Arc::new(ToolTexts(Arc::clone(&store)));
        let embedding = EmbeddingTask::new(embedder, Arc::clone(&store) as _, texts);
        Self { store, embedding, clock, snapshot: Mutex::default(), cache: ListingCache::default() }
    }

    /// Waits until all stored tools have vectors. Returns false on failure or timeout, and true without an embedder.
    pub async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.embedding.wait_for_vectors(limit).await
    }

    pub async fn close(&self) {
        self.embedding.stop();
        self.store.close().await;
    }

    async fn tools(&self) -> Result<Arc<ToolSnapshot>, Fault> {
        let generation = self.store.generation().await?;
        let snapshot = lock(&self.snapshot).clone();
        if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.generation == generation) {
            return Ok(snapshot);
        }
        let (generation, servers) = self.store.all().await?;
        let read = move || {
            let mut snapshot = ToolSnapshot {
                generation,
                segments: Vec::new(),
                rows: Vec::new(),
                positions: HashMap::new(),
                quarantined: RowSet::default(),
            };
            for server in servers {
                for tool in &server.tools {
                    let position = snapshot.rows.len();
                    snapshot.rows.push(tool.number);
                    snapshot.positions.insert(tool.number, position);
                    if tool.quarantined {
                        snapshot.quarantined.insert(position);
                    }
                }
                let specs: Vec<_> = server.tools.into_iter().map(|tool| tool.spec).collect();
                snapshot.segments.push(ToolSegment::new(&server.server, &specs));
            }
            Ok(Arc::new(snapshot))
        };
        let snapshot = run_blocking(read).await?;
        *lock(&self.snapshot) = Some(Arc::clone(&snapshot));
        Ok(snapshot)
    }

    /// Returns the similarity of each tool to a question, by position, and a note if the model failed. If it `waits`, it
    /// waits for vectors of new tools, at most [`MAX_VECTOR_WAIT`].
    async fn cosines(
        &self,
        snapshot: &ToolSnapshot,
        question: &str,
        waits: bool,
    ) -> Result<(Vec<Option<f32>>, Option<String>), Fault> {
        let (vector, reason) = self.embedding.embed_question(question).await;
        let Some(vector) = vector else { return Ok((Vec::new(), reason)) };
        let (mut near, without) = self.store.cosines(vector.clone()).await?;
        if without > 0 && waits {
            // A server was just listed, or another process ended before it had embedded its tools.
            self.embedding.wait_for_vectors(MAX_VECTOR_WAIT).await;
            (near, _) = self.store.cosines(vector).await?;
        }
        let mut cosines = vec![None; snapshot.rows.len()];
        for (number, cosine) in near {
            if let Some(position) = snapshot.positions.get(&number) {
                cosines[*position] = Some(cosine);
            }
        }
        Ok((cosines, reason))
    }
}

#[async_trait]
impl ToolIndex for ToolCatalogStore {
    async fn put(&self, listing: IndexedListing, force: bool) -> Result<RefreshReport, Fault> {
        let now = i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX);
        let report = self.store.put(listing, now, force).await;
        self.cache.changed();
        let report = report?;
        if report.embeddings > 0 {
            self.embedding.wake();
        }
        Ok(report)
    }

    async fn known(&self, server: &str) -> Result<Option<KnownListing>, Fault> {
        self.cache.get(&self.store, server).await
    }

    async fn forget(&self, server: &str) -> Result<(), Fault> {
        let forgotten = self.store.forget(server).await;
        self.cache.changed();
        forgotten
    }

    async fn connection_start(&self, server: &str) -> Result<Option<String>, Fault> {
        self.store.connection_start(server).await
    }

    async fn set_connection_start(&self, server: &str, start: Option<String>) -> Result<(), Fault> {
        self.store.set_connection_start(server, start).await
    }

    async fn search(
        &self,
        question: &ToolSearchRequest,
        may_find: ToolFilter<'_>,
    ) -> Result<ToolSearchResult, Fault> {
        let snapshot = self.tools().await?;
        let mut texts = Vec::new();
        let mut note = None;
        for part in query_parts(&question.query) {
            let (cosines, failure) = self.cosines(&snapshot, &part.embedded(), texts.is_empty()).await?;
            texts.push(ToolQuery { part, cosines });
            if failure.is_some() {
                // The model failed, so do not call it for the other parts.
                texts.truncate(1);
                note = failure;
                break;
            }
        }
        let tools = ToolSegments::new(snapshot.segments.iter().collect());
        let indexed_tools: Vec<_> = tools.iter().collect();
        let allowed: RowSet = (0..indexed_tools.len())
            .filter(|position| {
                !snapshot.quarantined.contains(*position) && may_find(&indexed_tools[*position].id)
            })
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
        self.store.pending_changes().await
    }

    async fn approve(&self, server: &str, tool: &str, digest: &str) -> Result<bool, Fault> {
        let approved = self.store.approve(server, tool, digest).await;
        self.cache.changed();
        approved
    }

    async fn declare_effects(&self, server: &str, declared: Vec<DeclaredEffect>) -> Result<bool, Fault> {
        let declared = self.store.declare_effects(server, declared).await;
        self.cache.changed();
        declared
    }

    async fn drop_declared_effects(&self, server: &str) -> Result<(), Fault> {
        let dropped = self.store.drop_declared_effects(server).await;
        self.cache.changed();
        dropped
    }

    async fn generation(&self) -> Result<i64, Fault> {
        self.cache.generation(&self.store).await
    }
}

struct ToolTexts(Arc<SqliteTools>);

#[async_trait]
impl TextSource for ToolTexts {
    async fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let specs = self.0.specs(keys).await?;
        Ok(specs.into_iter().map(|spec| spec.map(|spec| embedded_tool(&spec))).collect())
    }
}

/// Limit for the wait of a search for vectors of tools that are new.
const MAX_VECTOR_WAIT: Duration = Duration::from_secs(2);

/// Age at which the cache checks for changes by other processes, too short to notice after an approval in a shell.
const CACHE_TTL: Duration = Duration::from_millis(500);

/// Caches server listings for calls, because reading a definition from the store takes longer than many servers take to
/// answer.
#[derive(Default)]
struct ListingCache {
    state: Mutex<CachedListings>,
}

#[derive(Default)]
struct CachedListings {
    /// Generation of the store when it was last checked.
    generation: i64,
    checked: Option<Instant>,
    /// Number of changes by this process.
    changes: u64,
    listings: HashMap<String, Option<KnownListing>>,
}

impl ListingCache {
    async fn get(&self, store: &SqliteTools, server: &str) -> Result<Option<KnownListing>, Fault> {
        let changes = {
            let state = lock(&self.state);
            let is_fresh = state.checked.is_some_and(|checked| checked.elapsed() < CACHE_TTL);
            if let Some(listing) = state.listings.get(server).filter(|_| is_fresh) {
                return Ok(listing.clone());
            }
            state.changes
        };
        let generation = store.generation().await?;
        if let Some(listing) = self.get_current(generation, changes, server) {
            return Ok(listing);
        }
        let listing = store.known_listing(server).await?;
        let mut state = lock(&self.state);
        // Discard a listing if the store changed while it was read.
        if (state.changes, state.generation) == (changes, generation) {
            state.listings.insert(server.to_owned(), listing.clone());
        }
        Ok(listing)
    }

    /// Returns the generation of the store, and clears the cache if it has changed, so that a caller who sees a new
    /// generation reads no older listing.
    async fn generation(&self, store: &SqliteTools) -> Result<i64, Fault> {
        let changes = lock(&self.state).changes;
        let generation = store.generation().await?;
        self.lock_current(generation, changes);
        Ok(generation)
    }

    fn get_current(&self, generation: i64, changes: u64, server: &str) -> Option<Option<KnownListing>> {
        self.lock_current(generation, changes)?.listings.get(server).cloned()
    }

    /// Locks the cache at this generation, and clears older listings. `None` if this process has changed the store
    /// since.
    fn lock_current(&self, generation: i64, changes: u64) -> Option<MutexGuard<'_, CachedListings>> {
        let mut state = lock(&self.state);
        if state.changes != changes {
            return None;
        }
        if state.generation != generation {
            state.listings.clear();
            state.generation = generation;
        }
        state.checked = Some(Instant::now());
        Some(state)
    }

    /// Must be called after each change by this process.
    fn changed(&self) {
        let mut state = lock(&self.state);
        state.changes += 1;
        state.listings.clear();
        state.checked = None;
    }
}

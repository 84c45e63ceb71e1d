//! Artifact storage that is common to all engines.
//!
//! A text is stored once per SHA-256 digest, for all owners, in [blocks] of about 1 MiB. Its metadata belongs to one
//! owner, and no method crosses owners. Expired artifacts are invisible immediately; a [background
//! task](ArtifactStore::start_sweeping) deletes them from disk.
//!
//! Longer than 300 lines because the service is one trait, whose functions share the owner and the limits.

pub(crate) mod blocks;
#[cfg(feature = "chroma")]
mod chroma;
pub(crate) mod engine;
mod pointer;
mod read;
pub(crate) mod row;
pub(crate) mod schema;
mod search;
mod stored_reply;
mod subject;
pub(crate) mod tables;
#[cfg(feature = "postgres")]
mod terms;
mod words;
mod write;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    call::Principal,
    outcome::Fault,
    ports::{
        ArtifactService, Clock, Embedder,
        artifacts::{
            Artifact, ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactHit, ArtifactPart,
            ArtifactSlice, TextRange,
        },
    },
    reply_view::ReplyView,
};
use tokio::{task::JoinHandle, time::sleep};

#[cfg(feature = "chroma")]
use self::chroma::ChromaVectors;
use self::{
    engine::{ArtifactSpan, NewArtifact, OwnerScope, PackedText},
    row::ArtifactRow,
    search::SummaryTexts,
    tables::{ArtifactTables, TEXTS},
};
#[cfg(feature = "chroma")]
use crate::chroma::ChromaConfig;
#[cfg(feature = "postgres")]
use crate::sql::postgres::{PostgresConfig, PostgresServer, ServerTables};
use crate::{
    embedding::EmbeddingTask,
    engine::StoreHealth,
    engine::VectorStore,
    sql::sqlite::SqliteDatabase,
    sql::{Database, Session, Turn},
    worker::run_blocking,
};

/// Maximum number of artifacts that one list or search returns.
const MAX_RESULTS: usize = 100;

#[derive(Debug, Clone)]
pub struct ArtifactLimits {
    /// Time to live of drafts that set no other.
    pub ttl: Duration,
    /// Maximum bytes on disk, including metadata and indexes.
    pub cap: u64,
    /// Name of the setting for `cap`, for error messages.
    pub cap_setting: String,
}

impl ArtifactLimits {
    /// Fails with `exhausted` if the artifacts exceed the cap.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), Fault> {
        if bytes <= self.cap {
            return Ok(());
        }
        let message = format!("artifacts would take {bytes} bytes; the limit is {}", self.cap);
        let hint =
            format!("Delete artifacts that are pinned or no longer needed, or raise {}.", self.cap_setting);
        Err(Fault::exhausted(message).hint(hint))
    }
}

/// Artifact service on a storage engine.
pub struct ArtifactStore {
    tables: Arc<ArtifactTables>,
    /// `None` if the engine has the vectors.
    #[cfg(feature = "chroma")]
    chroma: Option<Arc<ChromaVectors>>,
    embedder: Option<Arc<dyn Embedder>>,
    embedding: EmbeddingTask,
    clock: Arc<dyn Clock>,
    limits: ArtifactLimits,
    row_reader: RowReader,
}

/// Returns the rows of a text that is not JSON as a JSON array, which pointers then address. `None` if it has no rows.
pub type RowReader = fn(&str) -> Option<String>;

impl ArtifactStore {
    /// Creates a store in a SQLite file that the first call opens. With an embedder, search also compares the meaning
    /// of summaries; calls then need a Tokio runtime for the embedding task.
    pub fn sqlite(
        database: PathBuf,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let db = SqliteDatabase::new(&schema::FILE, database);
        Self::new(Database::Sqlite(Arc::new(db)), limits, clock, embedder)
    }

    /// Creates a store on a PostgreSQL server, which several hosts can share. The first call connects.
    #[cfg(feature = "postgres")]
    pub fn postgres(
        server: PostgresConfig,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let tables = ServerTables::Own(schema::PART);
        let server = PostgresServer::new("artifact store 'postgres'", server, tables);
        Self::new(Database::Postgres(server), limits, clock, embedder)
    }

    fn new(
        db: Database,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let tables = Arc::new(ArtifactTables::new(db));
        Self {
            embedding: embedding(embedder.clone(), tables.vectors(), &tables),
            tables,
            #[cfg(feature = "chroma")]
            chroma: None,
            embedder,
            clock,
            limits,
            row_reader: |_| None,
        }
    }

    /// Sets the reader of tables. Without one, pointers address JSON only.
    #[must_use]
    pub fn with_row_reader(self, row_reader: RowReader) -> Self {
        Self { row_reader, ..self }
    }

    /// Moves the vectors of summaries to ChromaDB, which the first stored or searched vector connects to. While it is
    /// unavailable, search uses words only.
    #[cfg(feature = "chroma")]
    #[must_use]
    pub fn with_chroma(self, config: ChromaConfig) -> Self {
        let chroma = Arc::new(ChromaVectors::new(Arc::clone(&self.tables), config));
        let embedding = embedding(self.embedder.clone(), Arc::clone(&chroma) as _, &self.tables);
        Self { chroma: Some(chroma), embedding, ..self }
    }

    /// Checks the connection and returns the schema version and counts. Changes nothing.
    pub async fn health(&self) -> Result<StoreHealth, Fault> {
        let model = self.embedding.model();
        #[cfg(feature = "chroma")]
        if let (Some(chroma), Some(model)) = (&self.chroma, &model) {
            return Ok(self.embedding.add_health(chroma.health(model).await?));
        }
        Ok(self.embedding.add_health(self.tables.health(model.as_ref()).await?))
    }

    /// Deletes expired artifacts, frees their disk space and returns their number. Does not create a missing database.
    pub async fn sweep(&self) -> Result<u64, Fault> {
        let mut swept = 0;
        loop {
            let now = self.now();
            // Deleting texts stops all other writes.
            if !self
                .tables
                .db
                .read_existing(async move |db: Session<'_>| read::has_expired(db, now).await)
                .await?
            {
                break;
            }
            let sweep = async move |db: Session<'_>| write::sweep(db, now).await;
            match self.tables.db.write_existing(&[Turn::Alone(TEXTS)], sweep).await? {
                0 => break,
                some => swept += some,
            }
            // Now, because a later batch can fail.
            #[cfg(feature = "chroma")]
            if let Some(chroma) = &self.chroma {
                chroma.note_deletion(true);
            }
        }
        #[cfg(feature = "chroma")]
        if let Some(chroma) = &self.chroma {
            chroma.sweep().await?;
        }
        if swept > 0 {
            self.reclaim_space().await?;
        }
        Ok(swept)
    }

    /// Returns the number and bytes of an owner's artifacts.
    pub async fn holding(&self, owner: &Principal) -> Result<(u64, u64), Fault> {
        let scope = self.owner_scope(owner);
        let work = async move |db: Session<'_>| read::live_holding(db, &scope).await;
        let held = self.tables.db.read_existing(work).await?;
        Ok((held.artifacts, held.bytes))
    }

    /// Returns the names of all named principals that hold artifacts.
    pub async fn owners(&self) -> Result<Vec<String>, Fault> {
        let owners =
            self.tables.db.read_existing(async |db: Session<'_>| read::holdings(db).await).await?.into_iter();
        Ok(owners.filter_map(|(owner, _)| owner.strip_prefix("named:").map(str::to_owned)).collect())
    }

    /// Deletes all artifacts of an owner, frees their disk space and returns their number.
    pub async fn erase(&self, owner: &Principal) -> Result<u64, Fault> {
        let owner = self.owner_scope(owner).owner;
        let erase = async move |db: Session<'_>| write::erase(db, &owner).await;
        let erased = self.tables.db.write_existing(&[Turn::Alone(TEXTS)], erase).await?;
        #[cfg(feature = "chroma")]
        if let Some(chroma) = self.chroma.as_ref().filter(|_| erased > 0) {
            chroma.note_deletion(true);
            chroma.sweep().await?;
        }
        if erased > 0 {
            self.reclaim_space().await?;
        }
        Ok(erased)
    }

    /// Returns the space of deleted artifacts to the file system. A server does so itself.
    async fn reclaim_space(&self) -> Result<(), Fault> {
        if !self.tables.db.has_one_writer() {
            return Ok(());
        }
        self.tables.db.write(&[], async |db: Session<'_>| words::optimize(db).await).await?;
        self.tables.db.reclaim_space().await
    }

    async fn stored(&self, scope: OwnerScope, id: &str, span: ArtifactSpan) -> Result<PackedText, Fault> {
        let stored_id = id.to_owned();
        let work = async move |db: Session<'_>| read::text(db, &scope, &stored_id, span).await;
        self.tables.db.read(work).await?.ok_or_else(|| unknown_artifact(id))
    }

    async fn part(&self, scope: OwnerScope, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let range =
            |range: &TextRange| (number(range.offset), number(range.offset.saturating_add(range.count)));
        let (span, pointer) = match part {
            ArtifactPart::Whole => (ArtifactSpan::Whole, None),
            ArtifactPart::Pointer(pointer) => (ArtifactSpan::Whole, Some(pointer.clone())),
            ArtifactPart::Characters(part) => (ArtifactSpan::Characters(range(part).0, range(part).1), None),
            ArtifactPart::Lines(part) => (ArtifactSpan::Lines(range(part).0, range(part).1), None),
        };
        let stored = self.stored(scope, id, span).await?;
        let row_reader = self.row_reader;
        run_blocking(move || stored.slice(span, pointer, row_reader)).await
    }

    /// Waits until all stored summaries have vectors. Returns false on failure or timeout.
    pub async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.embedding.wait_for_vectors(limit).await
    }

    /// Closes the store permanently and checkpoints a database file.
    pub async fn close(&self) {
        self.embedding.stop().await;
        self.tables.db.close().await;
    }

    fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    fn owner_scope(&self, owner: &Principal) -> OwnerScope {
        // The prefix keeps a principal named `local` apart from the local user.
        let owner = match owner {
            Principal::Local => "local".to_owned(),
            Principal::Named(name) => format!("named:{name}"),
        };
        OwnerScope { owner, now: self.now() }
    }
}

#[async_trait]
impl ArtifactService for ArtifactStore {
    async fn put(&self, owner: &Principal, draft: ArtifactDraft) -> Result<Artifact, Fault> {
        let scope = self.owner_scope(owner);
        let ttl = draft.ttl.unwrap_or(self.limits.ttl).as_millis();
        let (now, ttl) = (scope.now, i64::try_from(ttl).unwrap_or(i64::MAX));
        let owner_limit = draft.owner_limit;
        let work = move || {
            let text = PackedText::from_text(&draft.text, draft.data.as_deref())?;
            let row = ArtifactRow::new(draft, &text.digest, now, ttl)?;
            Ok((text, row))
        };
        let (text, row) = run_blocking(work).await?;
        let artifact = self.tables.put(NewArtifact { scope, text, row, owner_limit }, &self.limits).await?;
        self.embedding.wake();
        Ok(artifact)
    }

    async fn owner_bytes(&self, owner: &Principal) -> Result<u64, Fault> {
        Ok(self.holding(owner).await?.1)
    }

    async fn info(&self, owner: &Principal, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let (scope, ids) = (self.owner_scope(owner), ids.to_vec());
        self.tables.db.read(async move |db: Session<'_>| read::info(db, &scope, &ids).await).await
    }

    async fn read(&self, owner: &Principal, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        self.part(self.owner_scope(owner), id, part).await
    }

    async fn view(&self, owner: &Principal, id: &str) -> Result<ReplyView<'static>, Fault> {
        let stored = self.stored(self.owner_scope(owner), id, ArtifactSpan::Whole).await?;
        run_blocking(move || stored.view()).await
    }

    async fn recent(
        &self,
        owner: &Principal,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        let filter = ArtifactFilter { tags: filter.tags.clone(), words: filter.words.to_lowercase() };
        let (scope, limit) = (self.owner_scope(owner), limit.clamp(1, MAX_RESULTS));
        let work = async move |db: Session<'_>| read::recent(db, &scope, &filter, limit).await;
        self.tables.db.read(work).await
    }

    async fn search(&self, owner: &Principal, query: &str, limit: usize) -> Result<Vec<ArtifactHit>, Fault> {
        self.find(self.owner_scope(owner), query, limit.clamp(1, MAX_RESULTS)).await
    }

    async fn change(&self, owner: &Principal, id: &str, changes: ArtifactChanges) -> Result<Artifact, Fault> {
        let (scope, stored_id) = (self.owner_scope(owner), id.to_owned());
        let work = async move |db: Session<'_>| write::change(db, &scope, &stored_id, changes).await;
        let changed = self.tables.db.write(&[Turn::Shared(TEXTS)], work).await?;
        let changed = changed.ok_or_else(|| unknown_artifact(id))?;
        self.embedding.wake();
        Ok(changed)
    }

    async fn delete(&self, owner: &Principal, id: &str) -> Result<bool, Fault> {
        let (scope, id) = (self.owner_scope(owner), id.to_owned());
        let work = async move |db: Session<'_>| write::delete(db, &scope, &id).await;
        let deleted = self.tables.db.write(&[Turn::Alone(TEXTS)], work).await?;
        #[cfg(feature = "chroma")]
        self.chroma.iter().for_each(|chroma| chroma.note_deletion(deleted));
        Ok(deleted)
    }
}

/// Task that deletes expired artifacts until it is dropped.
pub struct Sweeper(JoinHandle<()>);

impl ArtifactStore {
    /// Deletes expired artifacts now and after each `pause`. Must be called inside a Tokio runtime.
    #[must_use = "the task ends when its handle is dropped"]
    pub fn start_sweeping(self: &Arc<Self>, pause: Duration) -> Sweeper {
        let store = Arc::clone(self);
        Sweeper(tokio::spawn(async move {
            loop {
                match store.sweep().await {
                    Ok(0) => {}
                    Ok(swept) => {
                        tracing::debug!(swept, "deleted expired artifacts")
                    }
                    Err(fault) => tracing::warn!("cannot delete expired artifacts: {}", fault.message),
                }
                sleep(pause).await;
            }
        }))
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn embedding(
    embedder: Option<Arc<dyn Embedder>>,
    vectors: Arc<dyn VectorStore>,
    tables: &Arc<ArtifactTables>,
) -> EmbeddingTask {
    EmbeddingTask::new(embedder, vectors, Arc::new(SummaryTexts(Arc::clone(tables))))
}

/// Returns the same fault for an unknown, expired or foreign id, so that it does not disclose foreign artifacts.
fn unknown_artifact(id: &str) -> Fault {
    let id = gatehouse_core::names::quoted(id, 80);
    Fault::not_found(format!("artifact '{id}' not found or expired"))
        .hint("Call the tool that produced it again. Artifacts expire unless they are pinned.")
}

//! Artifact storage that is common to all engines.
//!
//! A text is stored once per SHA-256 digest, for all owners, in [blocks] of about 1 MiB. Its metadata belongs to one
//! owner, and no method crosses owners. Expired artifacts are invisible immediately; a [background
//! task](ArtifactStore::start_sweeping) deletes them from disk.
//!
//! Longer than 300 lines because the service is one trait, whose functions share the owner and the limits.

pub(crate) mod blocks;
pub(crate) mod engine;
mod pointer;
pub(crate) mod row;
mod search;
mod stored_reply;
mod subject;

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

use self::{
    engine::{ArtifactEngine, ArtifactSpan, NewArtifact, OwnerScope, PackedText},
    row::ArtifactRow,
    search::SummaryTexts,
    subject::SUBJECT_SOURCE_BYTES,
};
#[cfg(feature = "chroma")]
use crate::chroma::{ChromaConfig, ChromaVectors};
#[cfg(feature = "postgres")]
use crate::postgres::{PostgresConfig, artifacts::PostgresArtifacts};
use crate::{
    embedding::{EmbeddingTask, VectorStore},
    engine::StoreHealth,
    sqlite::artifacts::SqliteArtifacts,
    worker::run_blocking,
};

/// Maximum number of artifacts that one list or search returns.
const MAX_RESULTS: usize = 100;

/// Artifacts of older versions that one round of [`ArtifactStore::index_older`] indexes.
const INDEXED_AT_ONCE: usize = 100;

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
    engine: Arc<dyn ArtifactEngine>,
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
        Self::with_engine(Arc::new(SqliteArtifacts::new(database)), limits, clock, embedder)
    }

    /// Creates a store on a PostgreSQL server, which several hosts can share. The first call connects.
    #[cfg(feature = "postgres")]
    pub fn postgres(
        server: PostgresConfig,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self::with_engine(Arc::new(PostgresArtifacts::new(server)), limits, clock, embedder)
    }

    pub(crate) fn with_engine(
        engine: Arc<dyn ArtifactEngine>,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self {
            embedding: embedding(embedder.clone(), engine.vectors(), &engine),
            engine,
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
        let chroma = Arc::new(ChromaVectors::new(Arc::clone(&self.engine), config));
        let embedding = embedding(self.embedder.clone(), Arc::clone(&chroma) as _, &self.engine);
        Self { chroma: Some(chroma), embedding, ..self }
    }

    /// Checks the connection and returns the schema version and counts. Changes nothing.
    pub async fn health(&self) -> Result<StoreHealth, Fault> {
        let model = self.embedding.model();
        #[cfg(feature = "chroma")]
        if let (Some(chroma), Some(model)) = (&self.chroma, &model) {
            return Ok(self.embedding.add_health(chroma.health(model).await?));
        }
        Ok(self.embedding.add_health(self.engine.health(model.as_ref()).await?))
    }

    /// Deletes expired artifacts, frees their disk space and returns their number. Does not create a missing database.
    pub async fn sweep(&self) -> Result<u64, Fault> {
        let mut swept = 0;
        loop {
            match self.engine.sweep(self.now()).await? {
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
            self.engine.reclaim_space().await?;
        }
        Ok(swept)
    }

    /// Adds the subject to artifacts that an older version stored, so that searches find them as they find new ones.
    async fn index_older(&self) -> Result<(), Fault> {
        let beginning = TextRange { offset: 0, count: SUBJECT_SOURCE_BYTES as u64 };
        loop {
            let older = self.engine.without_subject(self.now(), INDEXED_AT_ONCE).await?;
            if older.is_empty() {
                return Ok(());
            }
            for (owner, id) in older {
                let scope = OwnerScope { owner, now: self.now() };
                let text = match self.part(&scope, &id, &ArtifactPart::Characters(beginning)).await {
                    Ok(part) => part.text,
                    Err(fault) if fault.retryable => return Err(fault),
                    // A damaged text is reported when it is read.
                    Err(_) => String::new(),
                };
                let edit = Box::new(move |row: &mut ArtifactRow| {
                    row.set_subject(&text);
                    Ok(())
                });
                self.engine.change(&scope, &id, edit).await?;
            }
            self.embedding.wake();
        }
    }

    /// Returns the number and bytes of an owner's artifacts.
    pub async fn holding(&self, owner: &Principal) -> Result<(u64, u64), Fault> {
        let held = self.engine.holding(&self.owner_scope(owner)).await?;
        Ok((held.artifacts, held.bytes))
    }

    /// Returns the names of all named principals that hold artifacts.
    pub async fn owners(&self) -> Result<Vec<String>, Fault> {
        let owners = self.engine.owners().await?.into_iter();
        Ok(owners.filter_map(|(owner, _)| owner.strip_prefix("named:").map(str::to_owned)).collect())
    }

    /// Deletes all artifacts of an owner, frees their disk space and returns their number.
    pub async fn erase(&self, owner: &Principal) -> Result<u64, Fault> {
        let erased = self.engine.erase(&self.owner_scope(owner).owner).await?;
        #[cfg(feature = "chroma")]
        if let Some(chroma) = self.chroma.as_ref().filter(|_| erased > 0) {
            chroma.note_deletion(true);
            chroma.sweep().await?;
        }
        if erased > 0 {
            self.engine.reclaim_space().await?;
        }
        Ok(erased)
    }

    async fn part(&self, scope: &OwnerScope, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        let number = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let range =
            |range: &TextRange| (number(range.offset), number(range.offset.saturating_add(range.count)));
        let (span, pointer) = match part {
            ArtifactPart::Whole => (ArtifactSpan::Whole, None),
            ArtifactPart::Pointer(pointer) => (ArtifactSpan::Whole, Some(pointer.clone())),
            ArtifactPart::Characters(part) => (ArtifactSpan::Characters(range(part).0, range(part).1), None),
            ArtifactPart::Lines(part) => (ArtifactSpan::Lines(range(part).0, range(part).1), None),
        };
        let stored = self.engine.read(scope, id, span).await?.ok_or_else(|| unknown_artifact(id))?;
        let row_reader = self.row_reader;
        run_blocking(move || stored.slice(span, pointer, row_reader)).await
    }

    /// Waits until all stored summaries have vectors. Returns false on failure or timeout.
    pub async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.embedding.wait_for_vectors(limit).await
    }

    /// Closes the store permanently and checkpoints a database file.
    pub async fn close(&self) {
        self.embedding.stop();
        self.engine.close().await;
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
        let artifact = self.engine.put(NewArtifact { scope, text, row, owner_limit }, &self.limits).await?;
        self.embedding.wake();
        Ok(artifact)
    }

    async fn owner_bytes(&self, owner: &Principal) -> Result<u64, Fault> {
        Ok(self.engine.holding(&self.owner_scope(owner)).await?.bytes)
    }

    async fn info(&self, owner: &Principal, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        self.engine.info(&self.owner_scope(owner), ids).await
    }

    async fn read(&self, owner: &Principal, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        self.part(&self.owner_scope(owner), id, part).await
    }

    async fn view(&self, owner: &Principal, id: &str) -> Result<ReplyView<'static>, Fault> {
        let scope = self.owner_scope(owner);
        let stored =
            self.engine.read(&scope, id, ArtifactSpan::Whole).await?.ok_or_else(|| unknown_artifact(id))?;
        run_blocking(move || stored.view()).await
    }

    async fn recent(
        &self,
        owner: &Principal,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        let filter = ArtifactFilter { tags: filter.tags.clone(), words: filter.words.to_lowercase() };
        self.engine.recent(&self.owner_scope(owner), &filter, limit.clamp(1, MAX_RESULTS)).await
    }

    async fn search(&self, owner: &Principal, query: &str, limit: usize) -> Result<Vec<ArtifactHit>, Fault> {
        self.find(self.owner_scope(owner), query, limit.clamp(1, MAX_RESULTS)).await
    }

    async fn change(&self, owner: &Principal, id: &str, changes: ArtifactChanges) -> Result<Artifact, Fault> {
        let scope = self.owner_scope(owner);
        let now = scope.now;
        let edit = Box::new(move |row: &mut ArtifactRow| row.change(changes, now));
        let changed = self.engine.change(&scope, id, edit).await?.ok_or_else(|| unknown_artifact(id))?;
        self.embedding.wake();
        Ok(changed)
    }

    async fn delete(&self, owner: &Principal, id: &str) -> Result<bool, Fault> {
        let deleted = self.engine.delete(&self.owner_scope(owner), id).await?;
        #[cfg(feature = "chroma")]
        self.chroma.iter().for_each(|chroma| chroma.note_deletion(deleted));
        Ok(deleted)
    }
}

/// Task that deletes expired artifacts until it is dropped.
pub struct Sweeper(JoinHandle<()>);

impl ArtifactStore {
    /// Deletes expired artifacts now and after each `pause`, and indexes those of older versions. Must be called inside
    /// a Tokio runtime.
    #[must_use = "the task ends when its handle is dropped"]
    pub fn start_sweeping(self: &Arc<Self>, pause: Duration) -> Sweeper {
        let store = Arc::clone(self);
        Sweeper(tokio::spawn(async move {
            let mut indexed = false;
            loop {
                match store.sweep().await {
                    Ok(0) => {}
                    Ok(swept) => {
                        tracing::debug!(swept, "deleted expired artifacts")
                    }
                    Err(fault) => tracing::warn!("cannot delete expired artifacts: {}", fault.message),
                }
                // Subjects need space that expired artifacts may have had.
                if !indexed {
                    match store.index_older().await {
                        Ok(()) => indexed = true,
                        Err(fault) => tracing::warn!("cannot index older artifacts yet: {}", fault.message),
                    }
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
    engine: &Arc<dyn ArtifactEngine>,
) -> EmbeddingTask {
    EmbeddingTask::new(embedder, vectors, Arc::new(SummaryTexts(Arc::clone(engine))))
}

/// Returns the same fault for an unknown, expired or foreign id, so that it does not disclose foreign artifacts.
fn unknown_artifact(id: &str) -> Fault {
    let id = gatehouse_core::names::quoted(id, 80);
    Fault::not_found(format!("artifact '{id}' not found or expired"))
        .hint("Call the tool that produced it again. Artifacts expire unless they are pinned.")
}

//! Artifacts on an engine: texts are packed and cut, ids and times settled, questions embedded and answers put in order
//! here, once for every engine.
//!
//! A text is stored once by its SHA-256, in [blocks] of a megabyte, whoever keeps it; what is known of it is each owner's
//! own, and no method goes from one owner to another. What is past its time is gone for every method at once; a
//! [task](ArtifactStore::keep_swept) takes it from the disk.

pub(crate) mod blocks;
pub(crate) mod engine;
mod pointer;
mod reading;
pub(crate) mod row;
mod search;
mod sweep;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    call::Principal,
    outcome::Fault,
    ports::{
        ArtifactService, Clock, Embedder,
        artifacts::{
            Artifact, ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactHit, ArtifactPart,
            ArtifactSlice,
        },
    },
};

pub use self::sweep::Sweeper;
use self::{
    engine::{ArtifactEngine, ArtifactEngineHealth, NewArtifact, OwnerScope, PackedText, StorageLimit},
    row::ArtifactRow,
    search::SummaryTexts,
};
#[cfg(feature = "chroma")]
use crate::chroma::{ArtifactsInChroma, ChromaConfig};
#[cfg(feature = "postgres")]
use crate::postgres::{PostgresConfig, artifacts::PostgresArtifacts};
use crate::{embedding::EmbeddingTask, engine::EmbeddingHealth, sqlite::artifacts::SqliteArtifacts};

/// The most artifacts that one list gives, and one search.
const MAX_RESULTS: usize = 100;

/// How long artifacts are kept, and how much they may take.
#[derive(Debug, Clone)]
pub struct ArtifactLimits {
    /// For how long, where whoever keeps one says nothing else. 3 h is usual.
    pub ttl: Duration,
    /// Bytes that all of them may take on disk, packed, with what is known of them and with their indexes.
    pub cap: u64,
    /// Where people set the cap, for faults: ``max_bytes under [artifacts] in presets.toml``, for example.
    pub cap_setting: String,
}

/// A store of artifacts.
pub struct ArtifactStore {
    engine: Arc<dyn ArtifactEngine>,
    embedder: Option<Arc<dyn Embedder>>,
    embedding: Option<EmbeddingTask>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    cap: StorageLimit,
}

/// How a store of artifacts is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactHealth {
    /// Its engine.
    pub store: ArtifactEngineHealth,
    /// The model by which artifacts are found by meaning, with how many wait for their vectors; none where they are
    /// found by words alone.
    pub embedding: Option<EmbeddingHealth>,
}

impl ArtifactStore {
    /// On SQLite, in this file. Opens nothing before the first call that needs it. With an embedder artifacts are found by
    /// the meaning of their summaries too; calls have to be made inside a Tokio runtime, where the vectors are made in
    /// the background.
    pub fn sqlite(
        database: PathBuf,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self::with_engine(Arc::new(SqliteArtifacts::new(database)), limits, clock, embedder)
    }

    /// On a PostgreSQL server, where several hosts may share one store. Reaches nothing before the first call that needs
    /// it; for the rest as [`ArtifactStore::sqlite`].
    #[cfg(feature = "postgres")]
    pub fn postgres(
        server: PostgresConfig,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        Self::with_engine(Arc::new(PostgresArtifacts::new(server)), limits, clock, embedder)
    }

    /// On any engine.
    pub(crate) fn with_engine(
        engine: Arc<dyn ArtifactEngine>,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Self {
        let embedding = embedder.clone().map(|embedder| embedding(embedder, &engine));
        let cap = StorageLimit { bytes: limits.cap, setting: limits.cap_setting };
        Self { engine, embedder, embedding, clock, ttl: limits.ttl, cap }
    }

    /// The same with the vectors of summaries in ChromaDB, which is reached when the first one is stored or asked for. Where
    /// it cannot be, words alone find artifacts; nothing else depends on it.
    #[cfg(feature = "chroma")]
    #[must_use]
    pub fn with_chroma(self, config: ChromaConfig) -> Self {
        let engine: Arc<dyn ArtifactEngine> = Arc::new(ArtifactsInChroma::new(self.engine, config));
        let embedding = self.embedder.clone().map(|embedder| embedding(embedder, &engine));
        Self { engine, embedding, ..self }
    }

    /// Whether the engine can be reached, its schema and how much it holds; changes nothing there.
    ///
    /// # Errors
    /// `unavailable`, naming the engine, its address and the cause.
    pub async fn health(&self) -> Result<ArtifactHealth, Fault> {
        let model = self.embedding.as_ref().map(EmbeddingTask::vectors);
        let store = self.engine.health(model.as_ref()).await?;
        let embedding = self.embedding.as_ref().map(|embedding| EmbeddingHealth {
            model: embedding.model().to_owned(),
            waiting: store.waiting,
            failing: store.no_vectors.clone().or_else(|| embedding.failing()),
        });
        Ok(ArtifactHealth { store, embedding })
    }

    /// Deletes what is past its time from the disk, gives its place back, and says how many artifacts that were. Makes no
    /// database where there is none.
    ///
    /// # Errors
    /// `unavailable`, naming the engine, its address and the cause.
    pub async fn sweep(&self) -> Result<u64, Fault> {
        let mut swept = 0;
        loop {
            match self.engine.sweep(self.now()).await? {
                0 => break,
                some => swept += some,
            }
        }
        if swept > 0 {
            self.engine.reclaim_space().await?;
        }
        Ok(swept)
    }

    /// Waits until the summaries that are stored now have their vectors; false where they have not, because the model
    /// fails or it takes longer than this.
    pub async fn wait_for_vectors(&self, limit: Duration) -> bool {
        match &self.embedding {
            Some(embedding) => embedding.wait_for_vectors(limit).await,
            None => true,
        }
    }

    /// Ends the use of it for good, for hosts and commands that stop; a database in a file is then whole in it.
    pub async fn close(&self) {
        if let Some(embedding) = &self.embedding {
            embedding.stop();
        }
        self.engine.close().await;
    }

    fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    fn owner_scope(&self, owner: &Principal) -> OwnerScope {
        // No name can be spelled so that it means the local one.
        let owner = match owner {
            Principal::Local => "local".to_owned(),
            Principal::Named(name) => format!("named:{name}"),
        };
        OwnerScope { owner, now: self.now() }
    }

    fn wake_embedding(&self) {
        if let Some(embedding) = &self.embedding {
            embedding.wake();
        }
    }
}

#[async_trait]
impl ArtifactService for ArtifactStore {
    async fn put(&self, owner: &Principal, draft: ArtifactDraft) -> Result<Artifact, Fault> {
        let asker = self.owner_scope(owner);
        let ttl = draft.ttl.unwrap_or(self.ttl).as_millis();
        let (now, ttl) = (asker.now, i64::try_from(ttl).unwrap_or(i64::MAX));
        let work = move || {
            let text = PackedText::from_text(&draft.text)?;
            let row = ArtifactRow::new(draft, &text.digest, now, ttl)?;
            Ok((text, row))
        };
        let (text, row) = cpu(work).await?;
        let artifact = self.engine.put(NewArtifact { asker, text, row }, &self.cap).await?;
        self.wake_embedding();
        Ok(artifact)
    }

    async fn info(&self, owner: &Principal, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        self.engine.info(&self.owner_scope(owner), ids).await
    }

    async fn read(&self, owner: &Principal, id: &str, part: &ArtifactPart) -> Result<ArtifactSlice, Fault> {
        self.part(&self.owner_scope(owner), id, part).await
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
        let asker = self.owner_scope(owner);
        let now = asker.now;
        let edit = Box::new(move |row: &mut ArtifactRow| row.change(changes, now));
        let changed = self.engine.change(&asker, id, edit).await?.ok_or_else(|| unknown_artifact(id))?;
        self.wake_embedding();
        Ok(changed)
    }

    async fn delete(&self, owner: &Principal, id: &str) -> Result<bool, Fault> {
        self.engine.delete(&self.owner_scope(owner), id).await
    }
}

/// What makes the vectors of summaries; nothing starts yet.
fn embedding(embedder: Arc<dyn Embedder>, engine: &Arc<dyn ArtifactEngine>) -> EmbeddingTask {
    EmbeddingTask::new(embedder, engine.vectors(), Arc::new(SummaryTexts(Arc::clone(engine))))
}

/// Work that takes a while without waiting, off the runtime.
async fn cpu<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Fault::internal("the work on an artifact ended without an answer")))
}

/// What is said of an id that is unknown, past its time, or somebody else's: the same.
fn unknown_artifact(id: &str) -> Fault {
    let id = gatehouse_core::names::quoted(id, 80);
    Fault::not_found(format!("There is no artifact '{id}', or not any more."))
        .hint("Call the tool again that it is the result of; artifacts are kept for a while only, unless they are pinned.")
}

//! Artifact engine on PostgreSQL, shared by several hosts. Texts, search terms and vectors (with pgvector) are in its
//! tables.

mod read;
mod search;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::artifacts::{Artifact, ArtifactFilter},
};

use super::{
    PostgresConfig,
    error::StoreError,
    migrations,
    server::{PostgresServer, ServerTables},
    session::PostgresSession,
    vectors::{PgvectorQuery, PgvectorState, PostgresVectors},
};
use crate::{
    artifacts::engine::{
        ARTIFACTS, ArtifactCandidates, ArtifactEngine, ArtifactEngineHealth, ArtifactQuestion, ArtifactSpan,
        NewArtifact, OwnerScope, RowEdit, StorageLimit, StoredText,
    },
    embedding::{VectorModel, VectorStore},
};

const NAME: &str = "postgres";

const SUBJECT: &str = "artifact store 'postgres'";

/// Maximum artifacts per sweep. Writers on other hosts wait for it.
const MAX_SWEPT: i64 = 500;

pub(crate) struct PostgresArtifacts {
    server: Arc<PostgresServer>,
    vectors: Arc<PostgresVectors>,
}

impl PostgresArtifacts {
    pub(crate) fn new(config: PostgresConfig) -> Self {
        let server = Arc::new(PostgresServer::new(SUBJECT, config, ServerTables::Own(migrations::ARTIFACTS)));
        let vectors = Arc::new(PostgresVectors::new(Arc::clone(&server), ARTIFACTS));
        Self { server, vectors }
    }

    async fn find_candidates(
        &self,
        db: &PostgresSession,
        question: &ArtifactQuestion,
    ) -> Result<ArtifactCandidates, StoreError> {
        let Some(vector) = &question.vector else { return search::candidates(db, question, None).await };
        match self.vectors.inspect(db).await? {
            PgvectorState::Ready(schema) => {
                let near = PgvectorQuery { schema, corpus: ARTIFACTS, vector };
                search::candidates(db, question, Some(&near)).await
            }
            PgvectorState::NoTable(_) => {
                let mut found = search::candidates(db, question, None).await?;
                found.without_vector = found.candidates.len().max(1);
                Ok(found)
            }
            PgvectorState::Missing(why) => {
                let found = search::candidates(db, question, None).await?;
                Ok(ArtifactCandidates { words_alone: Some(why), ..found })
            }
        }
    }

    /// Runs outside a transaction, because it must not create tables.
    async fn inspect(
        &self,
        db: &PostgresSession,
        model: Option<&VectorModel>,
    ) -> Result<ArtifactEngineHealth, StoreError> {
        let mut version = None;
        for part in migrations::ARTIFACTS.all() {
            version = part.version(db).await?;
            part.check(version.unwrap_or(0))?;
        }
        let latest = migrations::ARTIFACTS.latest();
        let mut health = ArtifactEngineHealth {
            engine: NAME,
            address: self.server.address().to_owned(),
            schema: version.map(|found| (found, latest)),
            ..ArtifactEngineHealth::default()
        };
        let current = version == Some(latest);
        if current {
            health.artifacts = read::count_all(db).await?;
            health.bytes = read::bytes(db).await?;
        }
        let Some(model) = model else { return Ok(health) };
        match self.vectors.inspect(db).await? {
            PgvectorState::Ready(_) if current => {
                health.waiting = PostgresVectors::count_waiting(db, ARTIFACTS, model).await?;
            }
            PgvectorState::Ready(_) | PgvectorState::NoTable(_) => health.waiting = health.artifacts,
            PgvectorState::Missing(why) => health.no_vectors = Some(why),
        }
        Ok(health)
    }
}

#[async_trait]
impl ArtifactEngine for PostgresArtifacts {
    async fn put(&self, new: NewArtifact, cap: &StorageLimit) -> Result<Artifact, Fault> {
        let db = self.server.write().await?;
        let kept = write::put(&db, new, cap).await.map_err(|error| {
            let full = error.is_full();
            let fault = self.server.fault(error);
            if full { Fault { kind: FaultKind::Exhausted, ..fault } } else { fault }.into()
        });
        db.finish_transaction(kept).await
    }

    async fn info(&self, asker: &OwnerScope, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let db = self.server.read().await?;
        let found = read::info(&db, asker, ids).await;
        db.finish_transaction(found).await
    }

    async fn read(
        &self,
        asker: &OwnerScope,
        id: &str,
        span: ArtifactSpan,
    ) -> Result<Option<StoredText>, Fault> {
        let db = self.server.read().await?;
        let found = read::text(&db, asker, id, span).await;
        db.finish_transaction(found).await
    }

    async fn recent(
        &self,
        asker: &OwnerScope,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        let db = self.server.read().await?;
        let found = read::recent(&db, asker, filter, limit).await;
        db.finish_transaction(found).await
    }

    async fn candidates(&self, question: &Arc<ArtifactQuestion>) -> Result<ArtifactCandidates, Fault> {
        let db = self.server.read().await?;
        let found = self.find_candidates(&db, question).await;
        db.finish_transaction(found).await
    }

    async fn change(&self, asker: &OwnerScope, id: &str, edit: RowEdit) -> Result<Option<Artifact>, Fault> {
        let db = self.server.write().await?;
        let changed = write::change(&db, asker, id, edit).await;
        db.finish_transaction(changed).await
    }

    async fn delete(&self, asker: &OwnerScope, id: &str) -> Result<bool, Fault> {
        let db = self.server.write().await?;
        let deleted = write::delete(&db, asker, id).await;
        db.finish_transaction(deleted).await
    }

    async fn sweep(&self, now: i64) -> Result<u64, Fault> {
        let db = self.server.session().await?;
        let version = migrations::ARTIFACTS.version(&db).await;
        // A sweep must not create tables.
        if db.finish(version).await?.is_none() {
            return Ok(0);
        }
        let db = self.server.write().await?;
        let swept = write::sweep(&db, now, MAX_SWEPT).await;
        db.finish_transaction(swept).await
    }

    async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let db = self.server.read().await?;
        let found = read::texts_to_embed(&db, keys).await;
        db.finish_transaction(found).await
    }

    async fn identity(&self) -> Result<String, Fault> {
        let db = self.server.read().await?;
        let found = read::identity(&db).await;
        db.finish_transaction(found).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.vectors) as _
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<ArtifactEngineHealth, Fault> {
        let db = self.server.session().await?;
        let health = self.inspect(&db, model).await;
        db.finish(health).await
    }
}

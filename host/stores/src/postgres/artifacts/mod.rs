//! The store of artifacts on a PostgreSQL server: several hosts share what they keep. Bytes, words and, where the server has
//! pgvector, vectors are in its tables.

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
    server::{Server, Tables},
    session::Session,
    vectors::{Near, Pgvector, Vectors},
};
use crate::{
    artifacts::engine::{
        ARTIFACTS, ArtifactCandidates, ArtifactEngine, ArtifactEngineHealth, ArtifactQuestion, Asker, Cap,
        Edit, NewArtifact, Span, StoredText,
    },
    embedding::{VectorModel, VectorStore},
};

/// The engine's name in configuration and faults.
const NAME: &str = "postgres";

/// Whose server it is, for faults.
const SUBJECT: &str = "artifact store 'postgres'";

/// Artifacts that one sweep removes: other hosts that write wait for it.
const SWEPT: i64 = 500;

/// The engine.
pub(crate) struct PostgresArtifacts {
    server: Arc<Server>,
    vectors: Arc<Vectors>,
}

impl PostgresArtifacts {
    /// An engine on this server, which is reached on first use.
    pub(crate) fn new(config: PostgresConfig) -> Self {
        let server = Arc::new(Server::new(SUBJECT, config, Tables::Own(migrations::ARTIFACTS)));
        let vectors = Arc::new(Vectors::new(Arc::clone(&server), ARTIFACTS));
        Self { server, vectors }
    }

    async fn found(
        &self,
        db: &Session,
        question: &ArtifactQuestion,
    ) -> Result<ArtifactCandidates, StoreError> {
        let Some(vector) = &question.vector else { return search::candidates(db, question, None).await };
        match self.vectors.examined(db).await? {
            Pgvector::Ready(schema) => {
                let near = Near { schema, corpus: ARTIFACTS, vector };
                search::candidates(db, question, Some(&near)).await
            }
            Pgvector::Fresh(_) => {
                let mut found = search::candidates(db, question, None).await?;
                found.without_vector = found.candidates.len().max(1);
                Ok(found)
            }
            Pgvector::Missing(why) => {
                let found = search::candidates(db, question, None).await?;
                Ok(ArtifactCandidates { words_alone: Some(why), ..found })
            }
        }
    }

    /// Outside of a transaction: nothing here may make a table.
    async fn examined(
        &self,
        db: &Session,
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
        match self.vectors.examined(db).await? {
            Pgvector::Ready(_) if current => {
                health.waiting = Vectors::count_waiting(db, ARTIFACTS, model).await?;
            }
            Pgvector::Ready(_) | Pgvector::Fresh(_) => health.waiting = health.artifacts,
            Pgvector::Missing(why) => health.no_vectors = Some(why),
        }
        Ok(health)
    }
}

#[async_trait]
impl ArtifactEngine for PostgresArtifacts {
    async fn put(&self, new: NewArtifact, cap: &Cap) -> Result<Artifact, Fault> {
        let db = self.server.write().await?;
        let kept = write::put(&db, new, cap).await.map_err(|error| {
            let full = error.is_full();
            let fault = self.server.fault(error);
            if full { Fault { kind: FaultKind::Exhausted, ..fault } } else { fault }.into()
        });
        db.end(kept).await
    }

    async fn info(&self, asker: &Asker, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        let db = self.server.read().await?;
        let found = read::info(&db, asker, ids).await;
        db.end(found).await
    }

    async fn read(&self, asker: &Asker, id: &str, span: Span) -> Result<Option<StoredText>, Fault> {
        let db = self.server.read().await?;
        let found = read::text(&db, asker, id, span).await;
        db.end(found).await
    }

    async fn recent(
        &self,
        asker: &Asker,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        let db = self.server.read().await?;
        let found = read::recent(&db, asker, filter, limit).await;
        db.end(found).await
    }

    async fn candidates(&self, question: &Arc<ArtifactQuestion>) -> Result<ArtifactCandidates, Fault> {
        let db = self.server.read().await?;
        let found = self.found(&db, question).await;
        db.end(found).await
    }

    async fn change(&self, asker: &Asker, id: &str, edit: Edit) -> Result<Option<Artifact>, Fault> {
        let db = self.server.write().await?;
        let changed = write::change(&db, asker, id, edit).await;
        db.end(changed).await
    }

    async fn delete(&self, asker: &Asker, id: &str) -> Result<bool, Fault> {
        let db = self.server.write().await?;
        let deleted = write::delete(&db, asker, id).await;
        db.end(deleted).await
    }

    async fn sweep(&self, now: i64) -> Result<u64, Fault> {
        let db = self.server.session().await?;
        let version = migrations::ARTIFACTS.version(&db).await;
        // Sweeping makes no table.
        if db.end_plain(version).await?.is_none() {
            return Ok(0);
        }
        let db = self.server.write().await?;
        let swept = write::sweep(&db, now, SWEPT).await;
        db.end(swept).await
    }

    async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        let db = self.server.read().await?;
        let found = read::texts_to_embed(&db, keys).await;
        db.end(found).await
    }

    async fn identity(&self) -> Result<String, Fault> {
        let db = self.server.read().await?;
        let found = read::identity(&db).await;
        db.end(found).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.vectors) as _
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<ArtifactEngineHealth, Fault> {
        let db = self.server.session().await?;
        let health = self.examined(&db, model).await;
        db.end_plain(health).await
    }
}

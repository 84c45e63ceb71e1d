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
    PostgresConfig, migrations,
    server::{PostgresServer, ServerTables},
    session::PostgresSession,
    vectors::PostgresVectors,
};
use crate::{
    artifacts::{
        ArtifactLimits,
        engine::{
            ARTIFACTS, ArtifactCandidates, ArtifactEngine, ArtifactQuestion, ArtifactSpan, NewArtifact,
            OwnerHolding, OwnerScope, PackedText, RowEdit,
        },
    },
    embedding::{VectorModel, VectorStore},
    engine::StoreHealth,
};

const SUBJECT: &str = "artifact store 'postgres'";

/// Maximum artifacts per sweep. Writers on other hosts wait for it.
const MAX_SWEPT: i64 = 500;

pub(crate) struct PostgresArtifacts {
    server: Arc<PostgresServer>,
    vectors: Arc<PostgresVectors>,
}

impl PostgresArtifacts {
    pub(crate) fn new(config: PostgresConfig) -> Self {
        let server = PostgresServer::new(SUBJECT, config, ServerTables::Own(migrations::ARTIFACTS));
        let vectors = Arc::new(PostgresVectors::new(Arc::clone(&server), ARTIFACTS));
        Self { server, vectors }
    }
}

#[async_trait]
impl ArtifactEngine for PostgresArtifacts {
    async fn put(&self, new: NewArtifact, limits: &ArtifactLimits) -> Result<Artifact, Fault> {
        let work = async |db: &_| {
            write::put(db, new, limits).await.map_err(|error| {
                let full = error.is_full();
                let fault = self.server.fault(error);
                if full { Fault { kind: FaultKind::Exhausted, ..fault } } else { fault }.into()
            })
        };
        self.server.write_with(work).await
    }

    async fn info(&self, scope: &OwnerScope, ids: &[String]) -> Result<Vec<Option<Artifact>>, Fault> {
        self.server.read_with(async |db| read::info(db, scope, ids).await).await
    }

    async fn read(
        &self,
        scope: &OwnerScope,
        id: &str,
        span: ArtifactSpan,
    ) -> Result<Option<PackedText>, Fault> {
        self.server.read_with(async |db| read::text(db, scope, id, span).await).await
    }

    async fn recent(
        &self,
        scope: &OwnerScope,
        filter: &ArtifactFilter,
        limit: usize,
    ) -> Result<Vec<Artifact>, Fault> {
        self.server.read_with(async |db| read::recent(db, scope, filter, limit).await).await
    }

    async fn candidates(&self, question: &Arc<ArtifactQuestion>) -> Result<ArtifactCandidates, Fault> {
        let work = async |db: &_| {
            let vectors = self.vectors.search(db, question.vector.as_ref()).await?;
            search::candidates(db, question, &vectors).await
        };
        self.server.read_with(work).await
    }

    async fn holding(&self, scope: &OwnerScope) -> Result<OwnerHolding, Fault> {
        let version = self.server.inspect_with(async |db| migrations::ARTIFACTS.version(db).await).await?;
        if version.is_none() {
            return Ok(OwnerHolding::default());
        }
        self.server.read_with(async |db| read::live_holding(db, scope).await).await
    }

    async fn erase(&self, owner: &str) -> Result<u64, Fault> {
        let version = self.server.inspect_with(async |db| migrations::ARTIFACTS.version(db).await).await?;
        if version.is_none() {
            return Ok(0);
        }
        self.server.write_with(async |db| write::erase(db, owner).await).await
    }

    async fn owners(&self) -> Result<Vec<(String, OwnerHolding)>, Fault> {
        let version = self.server.inspect_with(async |db| migrations::ARTIFACTS.version(db).await).await?;
        if version.is_none() {
            return Ok(Vec::new());
        }
        self.server.read_with(async |db| read::holdings(db).await).await
    }

    async fn without_subject(&self, now: i64, limit: usize) -> Result<Vec<(String, String)>, Fault> {
        let version = self.server.inspect_with(async |db| migrations::ARTIFACTS.version(db).await).await?;
        if version.is_none() {
            return Ok(Vec::new());
        }
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.server.read_with(async |db| read::without_subject(db, now, limit).await).await
    }

    async fn change(&self, scope: &OwnerScope, id: &str, edit: RowEdit) -> Result<Option<Artifact>, Fault> {
        self.server.write_with(async |db| write::change(db, scope, id, edit).await).await
    }

    async fn delete(&self, scope: &OwnerScope, id: &str) -> Result<bool, Fault> {
        self.server.write_with(async |db| write::delete(db, scope, id).await).await
    }

    async fn sweep(&self, now: i64) -> Result<u64, Fault> {
        let version = self.server.inspect_with(async |db| migrations::ARTIFACTS.version(db).await).await?;
        // A sweep must not create tables.
        if version.is_none() {
            return Ok(0);
        }
        self.server.write_with(async |db| write::sweep(db, now, MAX_SWEPT).await).await
    }

    async fn texts_to_embed(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        self.server.read_with(async |db| read::texts_to_embed(db, keys).await).await
    }

    async fn identity(&self) -> Result<String, Fault> {
        let sql = "SELECT name FROM gatehouse.artifact_store";
        self.server.read_with(async |db| db.value(sql, &[]).await).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.vectors) as _
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = async |db: &PostgresSession, health: &mut StoreHealth| {
            health.items = db.count("SELECT count(*) FROM gatehouse.artifact", &[]).await?;
            health.without_vector = health.items;
            health.bytes = read::bytes(db).await?;
            Ok(())
        };
        self.vectors.health(migrations::ARTIFACTS, model, count).await
    }
}

//! Knowledge engine on PostgreSQL: full-text search, links as rows, and vectors with pgvector.

mod read;
mod search;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{EngineStatistics, KnowledgePage},
};
use serde_json::{Map, Value};

use super::{
    PostgresConfig,
    error::StoreError,
    migrations,
    server::{PostgresServer, ServerTables},
    session::PostgresSession,
    terms::storable,
    vectors::PostgresVectors,
};
use crate::{
    embedding::{VectorModel, VectorStore},
    engine::{
        EngineHealth, PAGES, PageCandidates, PageEngine, PageHead, PageQuestion, PageScope, WriteOutcome,
        WritePlan,
    },
    wiki::{ids, record::PageRecord},
};

pub(crate) const NAME: &str = "postgres";

pub(crate) struct PostgresEngine {
    server: Arc<PostgresServer>,
    vectors: Arc<PostgresVectors>,
}

impl PostgresEngine {
    pub(crate) fn new(config: PostgresConfig) -> Self {
        let server = Arc::new(PostgresServer::new(
            "knowledge engine 'postgres'",
            config,
            ServerTables::Own(migrations::KNOWLEDGE),
        ));
        let vectors = Arc::new(PostgresVectors::new(Arc::clone(&server), PAGES));
        Self { server, vectors }
    }

    /// Runs outside a transaction, because it must not create tables.
    async fn inspect(
        &self,
        db: &PostgresSession,
        model: Option<&VectorModel>,
    ) -> Result<EngineHealth, StoreError> {
        let version = migrations::KNOWLEDGE.checked_version(db).await?;
        let latest = migrations::KNOWLEDGE.latest();
        let pages = if version.is_some() { read::statistics(db).await?.pages } else { 0 };
        let mut health = EngineHealth {
            address: self.server.address().to_owned(),
            schema: version.map(|found| (found, latest)),
            pages,
            without_vector: pages,
            ..EngineHealth::default()
        };
        let Some(model) = model else { return Ok(health) };
        match self.vectors.count_waiting(db, model, version == Some(latest), pages).await? {
            Ok(waiting) => health.without_vector = waiting,
            Err(why) => health.no_vectors = Some(why),
        }
        Ok(health)
    }
}

/// Returns the comparison key of an id or a title.
fn key(text: &str) -> String {
    ids::key(&storable(text))
}

#[async_trait]
impl PageEngine for PostgresEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refs(&self) -> Map<String, Value> {
        Map::from_iter([("address".to_owned(), Value::from(self.server.address()))])
    }

    async fn heads(&self, scope: &PageScope) -> Result<Vec<PageHead>, Fault> {
        self.server.read_with(async |db| read::heads(db, scope).await).await
    }

    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault> {
        self.server.read_with(async |db| read::records(db, ids).await).await
    }

    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        self.server.read_with(async |db| read::pages(db, ids).await).await
    }

    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault> {
        self.server.read_with(async |db| read::ids_by_title(db, &key(title)).await).await
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        let among = among.map(|among| among.iter().map(|one| storable(one).into_owned()).collect());
        self.server.read_with(async |db| read::domains(db, among).await).await
    }

    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault> {
        let work = async |db: &_| {
            let vectors = self.vectors.search(db, question.vector.as_ref()).await?;
            search::candidates(db, question, &vectors).await
        };
        self.server.read_with(work).await
    }

    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
        write::apply(&self.server, &plan).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.vectors) as _
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        self.server.read_with(async |db| read::statistics(db).await).await
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<EngineHealth, Fault> {
        self.server.inspect_with(async |db| self.inspect(db, model).await).await
    }
}

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
    PostgresConfig, migrations,
    server::{PostgresServer, ServerTables},
    session::PostgresSession,
    terms::storable,
    vectors::PostgresVectors,
};
use crate::{
    embedding::{VectorModel, VectorStore},
    engine::{
        PAGES, PageCandidates, PageEngine, PageHead, PageQuestion, PageScope, StoreHealth, WriteOutcome,
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
        let tables = ServerTables::Own(migrations::KNOWLEDGE);
        let server = PostgresServer::new("knowledge engine 'postgres'", config, tables);
        let vectors = Arc::new(PostgresVectors::new(Arc::clone(&server), PAGES));
        Self { server, vectors }
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
        let sql = "SELECT id FROM gatehouse.page WHERE title_key = $1 ORDER BY id";
        self.server.read_with(async |db| db.column(sql, &[&key(title)]).await).await
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        let among: Option<Vec<String>> =
            among.map(|among| among.iter().map(|domain| storable(domain).into_owned()).collect());
        let sql = "SELECT DISTINCT key FROM gatehouse.domain WHERE $1::text[] IS NULL OR key = ANY($1) ORDER BY key";
        self.server.read_with(async |db| db.column(sql, &[&among]).await).await
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

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = async |db: &PostgresSession, health: &mut StoreHealth| {
            health.items = db.count("SELECT count(*) FROM gatehouse.page", &[]).await?;
            health.without_vector = health.items;
            Ok(())
        };
        self.vectors.health(model, count).await
    }
}

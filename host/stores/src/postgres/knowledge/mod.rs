//! The knowledge engine on PostgreSQL: full-text search with the server's own stems and ranks, links as rows,
//! vectors with pgvector where the server has it.

mod put;
mod read;
mod search;
mod terms;
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
    server::{Server, Tables},
    session::Session,
    vectors::{Near, Pgvector, Vectors},
};
use crate::{
    embedding::{VectorModel, VectorStore, words_alone},
    engine::{Applied, Candidates, Engine, EngineHealth, Head, PAGES, Plan, Question, Scope},
    wiki::{ids, record::Record},
};

/// The engine's name in configuration, faults and index files.
pub(crate) const NAME: &str = "postgres";

/// The engine.
pub(crate) struct PostgresEngine {
    server: Arc<Server>,
    vectors: Arc<Vectors>,
}

impl PostgresEngine {
    /// An engine on this server, which is reached on first use.
    pub(crate) fn new(config: PostgresConfig) -> Self {
        let server =
            Arc::new(Server::new("knowledge engine 'postgres'", config, Tables::Own(migrations::KNOWLEDGE)));
        let vectors = Arc::new(Vectors::new(Arc::clone(&server), PAGES));
        Self { server, vectors }
    }

    /// Outside of a transaction: nothing here may make a table.
    async fn examined(&self, db: &Session, model: Option<&VectorModel>) -> Result<EngineHealth, StoreError> {
        let version = migrations::KNOWLEDGE.version(db).await?;
        if let Some(found) = version {
            migrations::KNOWLEDGE.check(found)?;
        }
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
        match self.vectors.examined(db).await? {
            Pgvector::Ready(_) if version == Some(latest) => {
                health.without_vector = Vectors::count_waiting(db, PAGES, model).await?;
            }
            Pgvector::Ready(_) | Pgvector::Fresh(_) => {}
            Pgvector::Missing(why) => health.no_vectors = Some(why),
        }
        Ok(health)
    }

    async fn found(&self, db: &Session, question: &Question) -> Result<Candidates, StoreError> {
        let mut near = None;
        if let Some(vector) = &question.vector {
            match self.vectors.examined(db).await? {
                Pgvector::Ready(schema) => near = Some(Some(Near { schema, corpus: PAGES, vector })),
                Pgvector::Fresh(_) => near = Some(None),
                Pgvector::Missing(why) => {
                    let found = search::candidates(db, question, None).await?;
                    return Ok(Candidates { notes: vec![words_alone(&why)], ..found });
                }
            }
        }
        search::candidates(db, question, near).await
    }
}

/// The form in which a text is stored and asked for: PostgreSQL has no NUL in texts.
fn storable(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
}

/// The form in which ids and titles are compared.
fn key(text: &str) -> String {
    ids::key(&storable(text))
}

#[async_trait]
impl Engine for PostgresEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refs(&self) -> Map<String, Value> {
        Map::from_iter([("address".to_owned(), Value::from(self.server.address()))])
    }

    async fn heads(&self, scope: &Scope) -> Result<Vec<Head>, Fault> {
        let db = self.server.read().await?;
        let found = read::heads(&db, scope).await;
        db.end(found).await
    }

    async fn records(&self, ids: &[String]) -> Result<Vec<Record>, Fault> {
        let db = self.server.read().await?;
        let found = read::records(&db, ids).await;
        db.end(found).await
    }

    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        let db = self.server.read().await?;
        let found = read::pages(&db, ids).await;
        db.end(found).await
    }

    async fn titled(&self, title: &str) -> Result<Vec<String>, Fault> {
        let db = self.server.read().await?;
        let found = read::titled(&db, &key(title)).await;
        db.end(found).await
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        let among = among.map(|among| among.iter().map(|one| storable(one).into_owned()).collect());
        let db = self.server.read().await?;
        let found = read::domains(&db, among).await;
        db.end(found).await
    }

    async fn candidates(&self, question: &Arc<Question>) -> Result<Candidates, Fault> {
        let db = self.server.read().await?;
        let found = self.found(&db, question).await;
        db.end(found).await
    }

    async fn apply(&self, plan: Arc<dyn Plan>) -> Result<Applied, Fault> {
        write::apply(&self.server, &plan).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.vectors) as _
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        let db = self.server.read().await?;
        let counted = read::statistics(&db).await;
        db.end(counted).await
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<EngineHealth, Fault> {
        let db = self.server.session().await?;
        match self.examined(&db, model).await {
            Ok(health) => {
                db.release();
                Ok(health)
            }
            Err(error) => Err(db.fail(error).await),
        }
    }
}

//! Knowledge engine on PostgreSQL: full-text search, links as rows, and vectors with pgvector.

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
    server::{PostgresServer, ServerTables},
    session::PostgresSession,
    vectors::{PgvectorQuery, PgvectorState, PostgresVectors},
};
use crate::{
    embedding::{VectorModel, VectorStore, words_only_note},
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
        match self.vectors.inspect(db).await? {
            PgvectorState::Ready(_) if version == Some(latest) => {
                health.without_vector = PostgresVectors::count_waiting(db, PAGES, model).await?;
            }
            PgvectorState::Ready(_) | PgvectorState::NoTable(_) => {}
            PgvectorState::Missing(why) => health.no_vectors = Some(why),
        }
        Ok(health)
    }

    async fn find_candidates(
        &self,
        db: &PostgresSession,
        question: &PageQuestion,
    ) -> Result<PageCandidates, StoreError> {
        let mut near = None;
        if let Some(vector) = &question.vector {
            match self.vectors.inspect(db).await? {
                PgvectorState::Ready(schema) => {
                    near = Some(Some(PgvectorQuery { schema, corpus: PAGES, vector }))
                }
                PgvectorState::NoTable(_) => near = Some(None),
                PgvectorState::Missing(why) => {
                    let found = search::candidates(db, question, None).await?;
                    return Ok(PageCandidates { notes: vec![words_only_note(&why)], ..found });
                }
            }
        }
        search::candidates(db, question, near).await
    }
}

/// Replaces NUL, which PostgreSQL cannot store in text.
fn storable(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
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
        let db = self.server.read().await?;
        let found = read::heads(&db, scope).await;
        db.finish_transaction(found).await
    }

    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault> {
        let db = self.server.read().await?;
        let found = read::records(&db, ids).await;
        db.finish_transaction(found).await
    }

    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        let db = self.server.read().await?;
        let found = read::pages(&db, ids).await;
        db.finish_transaction(found).await
    }

    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault> {
        let db = self.server.read().await?;
        let found = read::ids_by_title(&db, &key(title)).await;
        db.finish_transaction(found).await
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        let among = among.map(|among| among.iter().map(|one| storable(one).into_owned()).collect());
        let db = self.server.read().await?;
        let found = read::domains(&db, among).await;
        db.finish_transaction(found).await
    }

    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault> {
        let db = self.server.read().await?;
        let found = self.find_candidates(&db, question).await;
        db.finish_transaction(found).await
    }

    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
        write::apply(&self.server, &plan).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.vectors) as _
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        let db = self.server.read().await?;
        let counted = read::statistics(&db).await;
        db.finish_transaction(counted).await
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<EngineHealth, Fault> {
        let db = self.server.session().await?;
        match self.inspect(&db, model).await {
            Ok(health) => {
                db.release();
                Ok(health)
            }
            Err(error) => Err(db.rollback_fault(error).await),
        }
    }
}

//! Pages in tables, on SQLite or PostgreSQL.

mod read;
pub(crate) mod schema;
#[cfg(feature = "postgres")]
mod terms;
mod words;
mod write;

use std::sync::Arc;

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{EngineStatistics, KnowledgePage},
};
use serde_json::{Map, Value};

use crate::{
    engine::{
        PAGES, PageCandidates, PageEngine, PageHead, PageQuestion, PageScope, StoreHealth, VectorModel,
        VectorStore, WriteOutcome, WritePlan,
    },
    sql::{Commit, Database, Session, Turn, values, vectors::Vectors},
    wiki::{ids, record::PageRecord},
};

pub(super) struct PageTables {
    db: Database,
    vectors: Arc<Vectors>,
}

impl PageTables {
    pub(super) fn new(db: Database) -> Self {
        Self { vectors: Arc::new(Vectors::new(&db, PAGES)), db }
    }
}

#[async_trait]
impl PageEngine for PageTables {
    fn name(&self) -> &'static str {
        self.db.engine()
    }

    fn refs(&self) -> Map<String, Value> {
        let (name, place) = self.db.place();
        Map::from_iter([(name.to_owned(), Value::from(place))])
    }

    async fn heads(&self, scope: &PageScope) -> Result<Vec<PageHead>, Fault> {
        let scope = scope.clone();
        self.db.read(async move |db: Session<'_>| read::heads(db, &scope).await).await
    }

    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault> {
        let ids = ids.to_vec();
        self.db.read(async move |db: Session<'_>| read::records(db, &ids).await).await
    }

    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        let ids = ids.to_vec();
        self.db.read(async move |db: Session<'_>| read::pages(db, &ids).await).await
    }

    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault> {
        let (sql, key) = ("SELECT id FROM page WHERE title_key = ?1", ids::key(title));
        let read = async move |db: Session<'_>| db.column(sql, values![key]).await;
        let mut ids: Vec<String> = self.db.read(read).await?;
        ids.sort_unstable();
        Ok(ids)
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        self.db.read(async move |db: Session<'_>| read::domains(db, among.as_deref()).await).await
    }

    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault> {
        let (question, vectors) = (Arc::clone(question), Arc::clone(&self.vectors));
        self.db.read(async move |db: Session<'_>| words::candidates(db, &vectors, &question).await).await
    }

    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
        let write = async move |db: Session<'_>| write::apply(db, &plan).await;
        match self.db.write_known(&[Turn::Alone("pages")], write).await? {
            Commit::Done(outcome) => Ok(outcome),
            Commit::Unknown(fault) => Ok(WriteOutcome::Unknown(fault)),
        }
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        self.vectors.store()
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        let engine = self.db.engine();
        self.db.read(async move |db: Session<'_>| read::statistics(db, engine).await).await
    }

    async fn close(&self) {
        self.db.close().await;
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = async |db: Session<'_>, health: &mut StoreHealth| {
            health.items = db.first("SELECT count(*) FROM page", &[], |row| row.count(0)).await?.unwrap_or(0);
            health.without_vector = health.items;
            Ok(())
        };
        self.vectors.health(model, count).await
    }
}

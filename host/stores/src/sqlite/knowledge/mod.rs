//! Knowledge engine on SQLite, with FTS5 and stored vectors.

mod read;
mod search;
mod write;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{EngineStatistics, KnowledgePage},
};
use serde_json::{Map, Value};

use super::{
    copy::DataFile, db::Database, session::SqliteSession, statements::CachedStatements as _,
    vector_cache::VectorCache,
};
use crate::{
    embedding::{VectorModel, VectorStore},
    engine::{
        PAGES, PageCandidates, PageEngine, PageHead, PageQuestion, PageScope, StoreHealth, WriteOutcome,
        WritePlan,
    },
    wiki::{ids, record::PageRecord},
};

pub(crate) const NAME: &str = "sqlite";

pub(crate) struct SqliteEngine {
    db: Arc<Database>,
    cache: Arc<VectorCache>,
}

impl SqliteEngine {
    pub(crate) fn new(path: PathBuf) -> Self {
        let db = Database::new(DataFile::Knowledge, path);
        Self { db: Arc::new(db), cache: Arc::new(VectorCache::new(PAGES)) }
    }
}

#[async_trait]
impl PageEngine for SqliteEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refs(&self) -> Map<String, Value> {
        Map::from_iter([("database".to_owned(), Value::from(self.db.path().to_string_lossy()))])
    }

    async fn heads(&self, scope: &PageScope) -> Result<Vec<PageHead>, Fault> {
        let scope = scope.clone();
        self.db.read(move |db| read::heads(db, &scope)).await
    }

    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault> {
        let keys: Vec<String> = ids.iter().map(|id| ids::key(id)).collect();
        let work = move |db: &_| {
            let records = keys.iter().filter_map(|key| read::find_record(db, key).transpose());
            records.map(|page| Ok(page?.1)).collect()
        };
        self.db.read(work).await
    }

    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        let ids = ids.to_vec();
        self.db.read(move |db| ids.iter().map(|id| read::page(db, id)).collect()).await
    }

    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault> {
        let (sql, key) = ("SELECT id FROM page WHERE title_key = ?1 ORDER BY id", ids::key(title));
        self.db.read(move |db| db.column(sql, [key])).await
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        self.db.read(move |db| read::domains(db, among.as_deref())).await
    }

    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault> {
        let (question, cache) = (Arc::clone(question), Arc::clone(&self.cache));
        self.db.read(move |db| search::candidates(db, &cache, &question)).await
    }

    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
        self.db.write(move |db| write::apply(db, &*plan)).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.db) as _
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        self.db.read(read::statistics).await
    }

    async fn close(&self) {
        self.db.close().await;
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault> {
        let count = |db: &SqliteSession, health: &mut StoreHealth| {
            let db = db.connection();
            health.items = db.value("SELECT count(*) FROM page", [])?;
            Ok(())
        };
        self.db.health(model, count).await
    }
}

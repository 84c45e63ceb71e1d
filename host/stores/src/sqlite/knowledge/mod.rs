//! The knowledge engine on SQLite: full-text search with the FTS5 index, links as rows.
//!
//! Knows no files: what it stores has been read, checked and hashed before.

mod query;
mod read;
mod search;
mod write;

use std::path::PathBuf;

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{Filters, IndexReport, Neighbour, Page, SearchResult, Statistics, Unresolved},
};
use serde_json::{Map, Value};

use super::{
    db::{Database, open_reader},
    migrations,
};
use crate::{
    engine::{Batch, Engine, Health, Replacement},
    wiki::{ids, record::Record},
};

/// The engine's name in configuration, faults and index files.
pub(crate) const NAME: &str = "sqlite";

/// The engine.
pub(crate) struct SqliteEngine {
    db: Database,
}

impl SqliteEngine {
    /// An engine on this file, which is opened on first use.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { db: Database::new("knowledge engine 'sqlite'", path, migrations::KNOWLEDGE) }
    }
}

#[async_trait]
impl Engine for SqliteEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refs(&self) -> Map<String, Value> {
        Map::from_iter([("database".to_owned(), Value::from(self.db.path().to_string_lossy()))])
    }

    async fn search(&self, query: &str, filters: &Filters, limit: usize) -> Result<SearchResult, Fault> {
        let (query, filters) = (query.to_owned(), filters.clone());
        self.db.read(move |db| search::search(db, &query, &filters, limit)).await
    }

    async fn page(&self, id_or_title: &str) -> Result<Option<Page>, Fault> {
        let text = id_or_title.to_owned();
        self.db.read(move |db| read::named(db, &text)?.map(|stored| read::page(db, stored)).transpose()).await
    }

    async fn titles(&self) -> Result<Vec<(String, String)>, Fault> {
        self.db.read(read::titles).await
    }

    async fn neighbours(&self, id: &str) -> Result<Vec<Neighbour>, Fault> {
        let key = ids::key(id);
        let work = move |db: &_| match read::stored(db, &key)? {
            Some((number, _)) => read::neighbours(db, number),
            None => Ok(Vec::new()),
        };
        self.db.read(work).await
    }

    async fn record(&self, id: &str) -> Result<Option<Record>, Fault> {
        let key = ids::key(id);
        self.db.read(move |db| Ok(read::stored(db, &key)?.map(|(_, record)| record))).await
    }

    async fn sync(&self, batch: Batch) -> Result<IndexReport, Fault> {
        self.db.write(move |db| write::sync(db, &batch), |_| ()).await
    }

    async fn replace(&self, change: Replacement) -> Result<Vec<Unresolved>, Fault> {
        let change = std::sync::Arc::new(change);
        let applied = std::sync::Arc::clone(&change);
        let kept = move |kept: bool| {
            if let (false, Some(file)) = (kept, &applied.file) {
                file.revert();
            }
        };
        self.db.write(move |db| write::replace(db, &change), kept).await
    }

    async fn stats(&self) -> Result<Statistics, Fault> {
        self.db.read(read::statistics).await
    }

    async fn health(&self) -> Result<Health, Fault> {
        let address = self.db.path().to_owned();
        let shown = address.display().to_string();
        // Asking after its health does not make a database.
        let exists = tokio::fs::try_exists(&address).await.unwrap_or(true);
        if !exists {
            return Ok(Health { engine: NAME, address: shown, schema: None, pages: 0, waiting: 0 });
        }
        let work = move || {
            let db = open_reader(&address, migrations::KNOWLEDGE)?;
            let schema = migrations::version(&db)?;
            let pages = if schema > 0 { read::statistics(&db)?.pages } else { 0 };
            Ok(Health {
                engine: NAME,
                address: shown,
                schema: Some((schema, migrations::latest(migrations::KNOWLEDGE))),
                pages,
                waiting: 0,
            })
        };
        self.db.aside(work).await
    }
}

//! The knowledge engine on SQLite: search by name, by words with the FTS5 index and by meaning with stored
//! vectors; links as rows.
//!
//! Knows no files: what it stores has been read, checked and hashed before. Knows no model either: an embedder
//! is given to it, or not, and then words are all there is.

mod filter;
mod meaning;
mod query;
mod read;
mod search;
mod vectors;
mod words;
mod write;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{
        Embedder,
        knowledge::{Filters, Neighbour, Page, SearchResult, Statistics},
    },
};
use serde_json::{Map, Value};

use super::{
    db::{Database, open_reader},
    migrations,
};
use crate::{
    embedding::{Embedding, Made, VectorStore, Waiting, waiting_note},
    engine::{Applied, EmbeddingHealth, Engine, Head, Health, Plan, Scope},
    sqlite::error::StoreError,
    wiki::{ids, record::Record},
};
use meaning::Meaning;
use search::Asked;

/// The engine's name in configuration, faults and index files.
pub(crate) const NAME: &str = "sqlite";

/// The engine.
pub(crate) struct SqliteEngine {
    db: Arc<Database>,
    meaning: Arc<Meaning>,
    embedding: Option<Embedding>,
}

impl SqliteEngine {
    /// An engine on this file, which is opened on first use. Without an embedder it searches by words alone.
    pub(crate) fn new(path: PathBuf, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let db = Arc::new(Database::new("knowledge engine 'sqlite'", path, migrations::KNOWLEDGE));
        let embedding = embedder.map(|embedder| Embedding::new(embedder, Arc::clone(&db) as _));
        Self { db, meaning: Arc::default(), embedding }
    }

    /// The question as a vector, or what to say where there is none.
    async fn asked(&self, query: &str) -> (Option<Asked>, Option<String>) {
        let Some(embedding) = &self.embedding else { return (None, None) };
        let (vector, note) = embedding.ask(query).await;
        (vector.map(|vector| Asked { model: embedding.name().to_owned(), vector }), note)
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
        let (asked, mut note) = self.asked(query).await;
        let (query, filters, meaning) = (query.to_owned(), filters.clone(), Arc::clone(&self.meaning));
        let work = move |db: &_| search::search(db, &meaning, &query, asked.as_ref(), &filters, limit);
        let outcome = self.db.read(work).await?;
        if outcome.waiting > 0
            && let Some(embedding) = &self.embedding
        {
            // Another process may have stored them.
            embedding.announce();
            note = note.or_else(|| Some(waiting_note(outcome.waiting)));
        }
        Ok(SearchResult { note, ..outcome.result })
    }

    async fn page(&self, id_or_title: &str) -> Result<Option<Page>, Fault> {
        let text = id_or_title.to_owned();
        self.db.read(move |db| read::named(db, &text)?.map(|stored| read::page(db, stored)).transpose()).await
    }

    async fn heads(&self, scope: &Scope) -> Result<Vec<Head>, Fault> {
        let scope = scope.clone();
        self.db.read(move |db| read::heads(db, &scope)).await
    }

    async fn titled(&self, title: &str) -> Result<Vec<String>, Fault> {
        let key = ids::key(title);
        self.db.read(move |db| read::titled(db, &key)).await
    }

    async fn domains(&self, asked: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        self.db.read(move |db| read::domains(db, asked.as_deref())).await
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

    async fn apply(&self, plan: Arc<Plan>) -> Result<Applied, Fault> {
        self.db.write(move |db| write::apply(db, &plan)).await
    }

    async fn stats(&self) -> Result<Statistics, Fault> {
        self.db.read(read::statistics).await
    }

    async fn settle(&self, limit: Duration) -> bool {
        match &self.embedding {
            Some(embedding) => embedding.settle(limit).await,
            None => true,
        }
    }

    async fn close(&self) {
        if let Some(embedding) = &self.embedding {
            embedding.stop();
        }
        self.db.close().await;
    }

    async fn health(&self) -> Result<Health, Fault> {
        let address = self.db.path().to_owned();
        let embedding = self.embedding.as_ref();
        let mut health = Health {
            engine: NAME,
            address: address.display().to_string(),
            schema: None,
            pages: 0,
            waiting: 0,
            embedding: embedding.map(|embedding| EmbeddingHealth {
                model: embedding.model().to_owned(),
                waiting: 0,
                failing: embedding.failing(),
            }),
        };
        // Asking after its health does not make a database.
        if !tokio::fs::try_exists(&address).await.unwrap_or(true) {
            return Ok(health);
        }
        let model = embedding.map(|embedding| (embedding.name().to_owned(), embedding.dimension()));
        let work = move || {
            let db = open_reader(&address, migrations::KNOWLEDGE)?;
            let schema = migrations::version(&db)?;
            let latest = migrations::latest(migrations::KNOWLEDGE);
            let pages = if schema > 0 { read::statistics(&db)?.pages } else { 0 };
            let waiting = match model {
                Some((name, dimension)) if schema == latest => vectors::count_waiting(&db, &name, dimension)?,
                // An older schema has no vectors yet.
                _ => pages,
            };
            Ok::<_, StoreError>((Some((schema, latest)), pages, waiting))
        };
        let (schema, pages, waiting) = self.db.aside(work).await?;
        (health.schema, health.pages) = (schema, pages);
        if let Some(embedding) = &mut health.embedding {
            embedding.waiting = waiting;
        }
        Ok(health)
    }
}

#[async_trait]
impl VectorStore for Database {
    async fn waiting(
        &self,
        model: &str,
        dimension: Option<usize>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Waiting>, Fault> {
        let model = model.to_owned();
        self.read(move |db| vectors::waiting(db, &model, dimension, after, limit)).await
    }

    async fn store(&self, model: &str, made: Vec<Made>) -> Result<(), Fault> {
        let model = model.to_owned();
        self.write(move |db| vectors::store(db, &model, &made)).await
    }
}

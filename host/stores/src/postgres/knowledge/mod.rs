//! The knowledge engine on PostgreSQL: full-text search with the server's own stems and ranks, links as rows,
//! vectors with pgvector where the server has it.
//!
//! Knows no files: what it stores has been read, checked and hashed before.

mod put;
mod read;
mod search;
mod terms;
mod vectors;
mod write;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{
        Embedder,
        knowledge::{Filters, Neighbour, Page, SearchResult, Statistics},
    },
};
use serde_json::{Map, Value};

use self::vectors::{Meaning, Pgvector, Vectors};
use super::{PostgresConfig, error::StoreError, migrations, server::Server, session::Session};
use crate::{
    embedding::{Embedding, waiting_note, words_alone},
    engine::{Applied, EmbeddingHealth, Engine, Head, Health, Plan, Scope},
    wiki::{ids, record::Record},
};

/// The engine's name in configuration, faults and index files.
pub(crate) const NAME: &str = "postgres";

/// The engine.
pub(crate) struct PostgresEngine {
    server: Arc<Server>,
    meaning: Option<(Embedding, Arc<Vectors>)>,
}

impl PostgresEngine {
    /// An engine on this server, which is reached on first use. Without an embedder it searches by words alone.
    pub(crate) fn new(config: PostgresConfig, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let server = Arc::new(Server::new("knowledge engine 'postgres'", config, migrations::KNOWLEDGE));
        let meaning = embedder.map(|embedder| {
            let vectors = Arc::new(Vectors::new(Arc::clone(&server)));
            (Embedding::new(embedder, Arc::clone(&vectors) as _), vectors)
        });
        Self { server, meaning }
    }

    /// The question as a vector, or what to say where there is none.
    async fn asked(&self, query: &str) -> (Option<Vec<f32>>, Option<String>) {
        match &self.meaning {
            Some((embedding, _)) => embedding.ask(query).await,
            None => (None, None),
        }
    }

    /// What the question means on this server, or what to say where that has no part in it.
    async fn meant(&self, db: &Session, vector: Vec<f32>) -> Result<Result<Meaning, String>, StoreError> {
        let Some((embedding, vectors)) = &self.meaning else { return Ok(Err(String::new())) };
        Ok(match vectors.examined(db).await? {
            Pgvector::Ready(schema) => Ok(Meaning { schema, model: embedding.name().to_owned(), vector }),
            Pgvector::Fresh(_) => Err(words_alone("no page has its vector yet")),
            Pgvector::Missing(why) => Err(words_alone(&why)),
        })
    }

    async fn found(
        &self,
        db: &Session,
        question: &search::Question,
        vector: Option<Vec<f32>>,
    ) -> Result<(search::Outcome, Option<String>), StoreError> {
        let (meaning, note) = match vector {
            None => (None, None),
            Some(vector) => match self.meant(db, vector).await? {
                Ok(meaning) => (Some(meaning), None),
                Err(note) => (None, Some(note)),
            },
        };
        Ok((search::search(db, question, meaning.as_ref()).await?, note))
    }
}

/// The form in which a text is stored and asked for: PostgreSQL has no NUL in texts.
fn storable(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{FFFD}").into() } else { text.into() }
}

#[async_trait]
impl Engine for PostgresEngine {
    fn name(&self) -> &'static str {
        NAME
    }

    fn refs(&self) -> Map<String, Value> {
        Map::from_iter([("address".to_owned(), Value::from(self.server.address()))])
    }

    async fn search(&self, query: &str, filters: &Filters, limit: usize) -> Result<SearchResult, Fault> {
        let question = search::Question::of(query, filters, limit);
        if question.is_empty() {
            return Ok(SearchResult::default());
        }
        // Before a connection is taken: a model may take its time.
        let (vector, mut note) = self.asked(query).await;
        let db = self.server.read().await?;
        let found = self.found(&db, &question, vector).await;
        let (outcome, why) = db.end(found).await?;
        note = note.or(why);
        if outcome.waiting > 0
            && let Some((embedding, _)) = &self.meaning
        {
            // Another host may have stored them.
            embedding.announce();
            note = note.or_else(|| Some(waiting_note(outcome.waiting)));
        }
        Ok(SearchResult { note, ..outcome.result })
    }

    async fn page(&self, id_or_title: &str) -> Result<Option<Page>, Fault> {
        let db = self.server.read().await?;
        let found = read::named(&db, &storable(id_or_title)).await;
        db.end(found).await
    }

    async fn heads(&self, scope: &Scope) -> Result<Vec<Head>, Fault> {
        let db = self.server.read().await?;
        let found = read::heads(&db, scope).await;
        db.end(found).await
    }

    async fn titled(&self, title: &str) -> Result<Vec<String>, Fault> {
        let db = self.server.read().await?;
        let found = read::titled(&db, &ids::key(&storable(title))).await;
        db.end(found).await
    }

    async fn domains(&self, asked: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        let asked = asked.map(|asked| asked.iter().map(|one| storable(one).into_owned()).collect());
        let db = self.server.read().await?;
        let found = read::domains(&db, asked).await;
        db.end(found).await
    }

    async fn neighbours(&self, id: &str) -> Result<Vec<Neighbour>, Fault> {
        let db = self.server.read().await?;
        let found = read::neighbours_of(&db, &ids::key(&storable(id))).await;
        db.end(found).await
    }

    async fn record(&self, id: &str) -> Result<Option<Record>, Fault> {
        let db = self.server.read().await?;
        let found = read::stored(&db, &ids::key(&storable(id))).await;
        Ok(db.end(found).await?.map(|(_, record)| record))
    }

    async fn apply(&self, plan: Arc<Plan>) -> Result<Applied, Fault> {
        write::apply(&self.server, &plan).await
    }

    async fn stats(&self) -> Result<Statistics, Fault> {
        let db = self.server.read().await?;
        let counted = read::statistics(&db).await;
        db.end(counted).await
    }

    async fn settle(&self, limit: Duration) -> bool {
        match &self.meaning {
            Some((embedding, _)) => embedding.settle(limit).await,
            None => true,
        }
    }

    async fn health(&self) -> Result<Health, Fault> {
        let db = self.server.session().await?;
        match self.examined(&db).await {
            Ok(health) => {
                db.release();
                Ok(health)
            }
            Err(error) => Err(db.fail(error).await),
        }
    }
}

impl PostgresEngine {
    /// Outside of a transaction: nothing here may make a table.
    async fn examined(&self, db: &Session) -> Result<Health, StoreError> {
        let version = migrations::KNOWLEDGE.version(db).await?;
        if let Some(found) = version {
            migrations::KNOWLEDGE.check(found)?;
        }
        let pages = if version.is_some() { read::statistics(db).await?.pages } else { 0 };
        Ok(Health {
            engine: NAME,
            address: self.server.address().to_owned(),
            schema: version.map(|found| (found, migrations::KNOWLEDGE.latest())),
            pages,
            waiting: 0,
            embedding: match &self.meaning {
                Some((embedding, vectors)) => Some(embedded(db, embedding, vectors, pages).await?),
                None => None,
            },
        })
    }
}

/// How far the vectors are.
async fn embedded(
    db: &Session,
    embedding: &Embedding,
    vectors: &Vectors,
    pages: u32,
) -> Result<EmbeddingHealth, StoreError> {
    let (waiting, missing) = match vectors.examined(db).await? {
        Pgvector::Ready(_) => {
            (vectors::count_waiting(db, embedding.name(), embedding.dimension()).await?, None)
        }
        Pgvector::Fresh(_) => (pages, None),
        Pgvector::Missing(why) => (pages, Some(why)),
    };
    let model = embedding.model().to_owned();
    Ok(EmbeddingHealth { model, waiting, failing: missing.or_else(|| embedding.failing()) })
}

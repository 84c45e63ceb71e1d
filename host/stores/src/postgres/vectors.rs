//! Stored vectors, by corpus and key, where the server has pgvector: which items wait for theirs, writing them, and how
//! near they are to a question. Every vector is looked at; with the filters of a search that is exact, and no index is to be built.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use gatehouse_core::outcome::Fault;

use super::{
    error::{StoreError, column, count},
    migrations,
    server::PostgresServer,
    session::PostgresSession,
};
use crate::{
    embedding::{NewVector, VectorItem, VectorModel, VectorStore, WaitingItem},
    engine::QueryVector,
};

/// Days after which the vectors of a model go that is not used any more. Until then a change of model can be
/// taken back at no cost, and hosts with different models share one database.
const UNUSED_MODEL_DAYS: i32 = 30;

/// How the server keeps vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PgvectorState {
    /// In this schema, and with the table for them.
    Ready(String),
    /// It is there, and the table is not made yet.
    NoTable(String),
    /// Not at all, and why.
    Missing(String),
}

/// The vectors on a server.
pub(super) struct PostgresVectors {
    server: Arc<PostgresServer>,
    /// The corpus that these are the vectors of; others have tasks of their own.
    corpus: &'static str,
    /// The schema of pgvector, once the table for vectors is there.
    ready: Mutex<Option<String>>,
    /// Whether the extension was asked for; a server that refuses is not asked again and again.
    tried: AtomicBool,
}

impl PostgresVectors {
    pub(super) fn new(server: Arc<PostgresServer>, corpus: &'static str) -> Self {
        Self { server, corpus, ready: Mutex::default(), tried: AtomicBool::new(false) }
    }

    /// How the server keeps vectors; changes nothing there.
    pub(super) async fn inspect(&self, db: &PostgresSession) -> Result<PgvectorState, StoreError> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match ready {
            Some(schema) => Ok(PgvectorState::Ready(schema)),
            None => PgvectorState::detect(db).await,
        }
    }

    /// The schema of pgvector with the table for vectors made; none where the server has no pgvector.
    async fn schema(&self) -> Result<Option<String>, Fault> {
        if let Some(schema) = &*self.ready.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Some(schema.clone()));
        }
        // The tables of what they belong to come first.
        let db = self.server.read().await?;
        db.finish_transaction(Ok(())).await?;
        let db = self.server.session().await?;
        match self.create_missing(&db).await {
            Ok(schema) => {
                db.release();
                self.ready.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&schema);
                Ok(schema)
            }
            Err(error) => Err(db.rollback_fault(error).await),
        }
    }

    /// Makes what is missing and may be made: the extension, then the table.
    async fn create_missing(&self, db: &PostgresSession) -> Result<Option<String>, StoreError> {
        let mut found = PgvectorState::detect(db).await?;
        if matches!(found, PgvectorState::Missing(_)) && !self.tried.swap(true, Ordering::Relaxed) {
            // Whether it is there to be made, and whether we may, the server knows best.
            match db.batch("CREATE EXTENSION IF NOT EXISTS vector").await {
                Err(error) if error.is_lost() => return Err(error),
                Err(error) => tracing::info!("pgvector cannot be made: {error}"),
                Ok(()) => found = PgvectorState::detect(db).await?,
            }
        }
        let (PgvectorState::Ready(schema) | PgvectorState::NoTable(schema)) = found else { return Ok(None) };
        migrations::VECTORS.migrate(db, Some(&schema)).await?;
        Ok(Some(schema))
    }
}

#[async_trait]
impl VectorStore for PostgresVectors {
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault> {
        // Without pgvector nothing waits: there is nothing to wait for.
        if self.schema().await?.is_none() {
            return Ok(Vec::new());
        }
        let db = self.server.read().await?;
        let found = waiting(&db, self.corpus, model, after, limit).await;
        db.finish_transaction(found).await
    }

    async fn store(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let Some(schema) = self.schema().await? else { return Ok(()) };
        let db = self.server.write().await?;
        let stored = store(&db, &schema, self.corpus, &model.name, &vectors).await;
        db.finish_transaction(stored).await
    }
}

impl PgvectorState {
    /// Whether the server has pgvector; changes nothing.
    async fn detect(db: &PostgresSession) -> Result<Self, StoreError> {
        let sql = "SELECT quote_ident(n.nspname), to_regclass('gatehouse.item_vector') IS NOT NULL
             FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
             WHERE e.extname = 'vector'";
        if let Some(row) = db.query_opt(sql, &[]).await? {
            let schema = column(&row, 0)?;
            return Ok(if column(&row, 1)? { Self::Ready(schema) } else { Self::NoTable(schema) });
        }
        let offered = "SELECT 1 FROM pg_catalog.pg_available_extensions WHERE name = 'vector'";
        let why = match db.query_opt(offered, &[]).await? {
            Some(_) => "the database has no extension 'vector'; run CREATE EXTENSION vector there",
            None => "the server has no extension 'vector'; install pgvector there",
        };
        Ok(Self::Missing(why.into()))
    }
}

/// How an item `i` is told that waits: `$1` is the model, `$2` the dimension, or null where it is not known yet.
const NEEDS_VECTOR: &str = "NOT EXISTS (SELECT 1 FROM gatehouse.item_vector v
    WHERE v.corpus = i.corpus AND v.key = i.key AND v.model = $1
    AND (v.dimension = 0 OR $2::integer IS NULL OR v.dimension = $2))";

impl PostgresVectors {
    /// How many items of a corpus wait for a vector of this model.
    pub(super) async fn count_waiting(
        db: &PostgresSession,
        corpus: &str,
        model: &VectorModel,
    ) -> Result<u32, StoreError> {
        let sql = format!("SELECT count(*) FROM gatehouse.item i WHERE i.corpus = $3 AND {NEEDS_VECTOR}");
        count(&db.one(&sql, &[&model.name, &model.dimension.map(integer), &corpus]).await?, 0)
    }
}

async fn waiting(
    db: &PostgresSession,
    corpus: &str,
    model: &VectorModel,
    after: Option<&VectorItem>,
    limit: usize,
) -> Result<Vec<WaitingItem>, StoreError> {
    let sql = format!(
        "SELECT i.corpus, i.key, i.version FROM gatehouse.item i
         WHERE i.corpus = $3 AND i.key > $4 AND {NEEDS_VECTOR} ORDER BY i.key LIMIT $5"
    );
    let key = after.map_or("", |after| after.key.as_str());
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let dimension = model.dimension.map(integer);
    let rows = db.rows(&sql, &[&model.name, &dimension, &corpus, &key, &limit]).await?;
    let waiting = rows.iter().map(|row| {
        let item = VectorItem { corpus: column(row, 0)?, key: column(row, 1)? };
        Ok(WaitingItem { item, version: column(row, 2)? })
    });
    waiting.collect()
}

/// Stores vectors of items that are still as they were. Whoever comes second writes the same again.
async fn store(
    db: &PostgresSession,
    schema: &str,
    corpus: &str,
    model: &str,
    vectors: &[NewVector],
) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO gatehouse.item_vector (corpus, key, model, dimension, embedding)
         SELECT corpus, key, $3, $4, $5::real[]::{schema}.vector FROM gatehouse.item
         WHERE corpus = $1 AND key = $2 AND version = $6
         ON CONFLICT (corpus, key, model) DO UPDATE
         SET dimension = excluded.dimension, embedding = excluded.embedding, made = now()"
    );
    for NewVector { item, version, vector } in vectors {
        let dimension = integer(vector.as_ref().map_or(0, Vec::len));
        db.run(&sql, &[&item.corpus, &item.key, &model, &dimension, vector, version]).await?;
    }
    // The models are read off the index, one step for each: this is asked after every batch.
    let old = "WITH RECURSIVE known (model) AS (
            (SELECT model FROM gatehouse.item_vector WHERE corpus = $3 ORDER BY model LIMIT 1)
            UNION ALL
            SELECT (SELECT v.model FROM gatehouse.item_vector v
                WHERE v.corpus = $3 AND v.model > known.model ORDER BY v.model LIMIT 1)
            FROM known WHERE known.model IS NOT NULL
        ), outdated AS (
            SELECT model FROM known WHERE model <> $1 AND NOT EXISTS (SELECT 1 FROM gatehouse.item_vector v
                WHERE v.corpus = $3 AND v.model = known.model AND v.made > now() - make_interval(days => $2))
        )
        DELETE FROM gatehouse.item_vector WHERE corpus = $3 AND model IN (SELECT model FROM outdated)";
    db.run(old, &[&model, &UNUSED_MODEL_DAYS, &corpus]).await?;
    Ok(())
}

/// Notes items of a corpus, as (key, version): one with another version than before loses its vectors.
pub(super) async fn put_items(
    db: &PostgresSession,
    corpus: &str,
    items: &[(String, String)],
) -> Result<(), StoreError> {
    let (keys, versions): (Vec<&String>, Vec<&String>) =
        items.iter().map(|(key, version)| (key, version)).unzip();
    let outdated = "DELETE FROM gatehouse.item i USING unnest($2::text[], $3::text[]) AS new (key, version)
         WHERE i.corpus = $1 AND i.key = new.key AND i.version <> new.version";
    db.run(outdated, &[&corpus, &keys, &versions]).await?;
    let put = "INSERT INTO gatehouse.item (corpus, key, version) SELECT $1, new.key, new.version
         FROM unnest($2::text[], $3::text[]) AS new (key, version) ON CONFLICT DO NOTHING";
    db.run(put, &[&corpus, &keys, &versions]).await?;
    Ok(())
}

/// Forgets items with their vectors.
pub(super) async fn remove_items(
    db: &PostgresSession,
    corpus: &str,
    keys: &[String],
) -> Result<(), StoreError> {
    db.run("DELETE FROM gatehouse.item WHERE corpus = $1 AND key = ANY($2)", &[&corpus, &keys]).await?;
    Ok(())
}

/// A question as a vector, on a server that has pgvector.
pub(super) struct PgvectorQuery<'a> {
    /// The schema of pgvector, as SQL writes it.
    pub(super) schema: String,
    pub(super) corpus: &'static str,
    pub(super) vector: &'a QueryVector,
}

impl PgvectorQuery<'_> {
    /// How many items the model has been asked about.
    pub(super) async fn count_known(&self, db: &PostgresSession) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM gatehouse.item_vector WHERE corpus = $1 AND model = $2 AND dimension IN (0, $3)";
        count(&db.one(sql, &[&self.corpus, &self.vector.model, &self.dimension()]).await?, 0)
    }

    /// The keys of all vectors that the question can be compared with, as `key`, and how far each is, as `distance`;
    /// `$1` to `$4` are [`values`](Self::values).
    pub(super) fn distances(&self) -> String {
        self.distances_where("v.dimension = $4")
    }

    /// The same with those that the model has nothing to say about: these are at no distance.
    pub(super) fn distances_or_none(&self) -> String {
        self.distances_where("v.dimension IN (0, $4)")
    }

    fn distances_where(&self, dimension: &str) -> String {
        let schema = &self.schema;
        // A SELECT of its own: the question becomes a vector once, not for every row.
        format!(
            "SELECT v.key, v.embedding OPERATOR({schema}.<=>) (SELECT $1::real[]::{schema}.vector) AS distance
             FROM gatehouse.item_vector v WHERE v.corpus = $2 AND v.model = $3 AND {dimension}"
        )
    }

    /// The vector, the corpus, the model.
    pub(super) fn values(&self) -> (&[f32], &str, &str) {
        (&self.vector.values, self.corpus, &self.vector.model)
    }

    /// The dimension.
    pub(super) fn dimension(&self) -> i32 {
        integer(self.vector.values.len())
    }
}

fn integer(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

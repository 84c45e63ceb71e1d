//! Vectors in pgvector, by corpus and key: pending items, storage and distances.
//!
//! Searches scan every vector. This is exact even with filters, and needs no index.
//!
//! Longer than 300 lines because storage and search share one table and its statements.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use gatehouse_core::{lock, outcome::Fault};
use tokio_postgres::{Row, types::ToSql};

use super::{
    error::{Result, column},
    migrations,
    server::{PostgresServer, ServerTables},
    session::PostgresSession,
};
use crate::engine::{NewVector, QueryVector, StoreHealth, VectorItem, VectorModel, VectorStore};

/// Days until the vectors of an unused model are deleted. The delay makes a model change reversible and lets hosts with
/// different models share a database.
const UNUSED_MODEL_DAYS: i32 = 30;

/// Availability of pgvector in the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PgvectorState {
    /// The extension and the vector table exist. Contains the schema of the extension.
    Ready(String),
    /// The extension exists, but the vector table does not.
    NoTable(String),
    /// The extension is missing. Contains the reason.
    Missing(String),
}

pub(crate) struct PostgresVectors {
    server: Arc<PostgresServer>,
    /// Corpus of these vectors. Each corpus has its own embedding task.
    corpus: &'static str,
    /// Schema of pgvector. `None` until the vector table exists.
    ready: Mutex<Option<String>>,
    /// True if CREATE EXTENSION was tried, which happens once per instance.
    tried: AtomicBool,
}

impl PostgresVectors {
    pub(crate) fn new(server: Arc<PostgresServer>, corpus: &'static str) -> Self {
        Self { server, corpus, ready: Mutex::default(), tried: AtomicBool::new(false) }
    }

    pub(super) async fn inspect(&self, db: &PostgresSession) -> Result<PgvectorState> {
        let ready = lock(&self.ready).clone();
        match ready {
            Some(schema) => Ok(PgvectorState::Ready(schema)),
            None => PgvectorState::detect(db).await,
        }
    }

    pub(crate) async fn has_table(&self, db: &PostgresSession) -> Result<bool> {
        Ok(matches!(self.inspect(db).await?, PgvectorState::Ready(_)))
    }

    /// Creates the vector table if needed and returns the schema of pgvector. `None` without pgvector.
    async fn schema(&self) -> Result<Option<String>, Fault> {
        if let Some(schema) = &*lock(&self.ready) {
            return Ok(Some(schema.clone()));
        }
        // Run the migrations of the dependencies first.
        self.server.read_with(async |_| Ok(())).await?;
        let db = self.server.session().await?.with_migration_timeout();
        let schema = self.create_missing(&db).await;
        let schema = db.finish(schema).await?;
        lock(&self.ready).clone_from(&schema);
        Ok(schema)
    }

    /// Creates the extension and the table if they are missing and the server allows it.
    async fn create_missing(&self, db: &PostgresSession) -> Result<Option<String>> {
        let mut state = PgvectorState::detect(db).await?;
        if matches!(state, PgvectorState::Missing(_)) && !self.tried.swap(true, Ordering::Relaxed) {
            // The server decides whether the extension is available and permitted, so just try.
            match db.batch("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public").await {
                Err(error) if error.is_lost() => return Err(error),
                Err(error) => tracing::info!("cannot create the extension pgvector: {error}"),
                Ok(()) => state = PgvectorState::detect(db).await?,
            }
        }
        let (PgvectorState::Ready(schema) | PgvectorState::NoTable(schema)) = state else { return Ok(None) };
        migrations::VECTORS.migrate(db, Some(&schema)).await?;
        Ok(Some(schema))
    }
}

#[async_trait]
impl VectorStore for PostgresVectors {
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        // Without pgvector, no item waits for a vector.
        if self.schema().await?.is_none() {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT i.key, i.version FROM gatehouse.item i
             WHERE i.corpus = $3 AND i.key > $4 AND {NEEDS_VECTOR} ORDER BY i.key LIMIT $5"
        );
        let (dimension, max) = (model.dimension.map(integer), i64::try_from(max).unwrap_or(i64::MAX));
        let item = |row: &Row| Ok(VectorItem { key: column(row, 0)?, version: column(row, 1)? });
        let work = async |db: &PostgresSession| {
            db.all(&sql, &[&model.name, &dimension, &self.corpus, &after, &max], item).await
        };
        self.server.read_with(work).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let Some(schema) = self.schema().await? else { return Ok(()) };
        let work = async |db: &PostgresSession| store(db, &schema, self.corpus, model, &vectors).await;
        self.server.write_with(&[], work).await?.map_err(|error| self.server.fault(error))?.known()
    }
}

impl PgvectorState {
    async fn detect(db: &PostgresSession) -> Result<Self> {
        let sql = "SELECT quote_ident(n.nspname), to_regclass('gatehouse.item_vector') IS NOT NULL
             FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
             WHERE e.extname = 'vector'";
        if let Some(row) = db.query_opt(sql, &[]).await? {
            let schema = column(&row, 0)?;
            return Ok(if column(&row, 1)? { Self::Ready(schema) } else { Self::NoTable(schema) });
        }
        let offered = "SELECT 1 FROM pg_catalog.pg_available_extensions WHERE name = 'vector'";
        let reason = match db.query_opt(offered, &[]).await? {
            Some(_) => "the database has no extension 'vector'; run CREATE EXTENSION vector there",
            None => "the server has no extension 'vector'; install pgvector there",
        };
        Ok(Self::Missing(reason.into()))
    }
}

/// Condition for an item `i` without a vector: `$1` is the model, `$2` its dimension, or null if unknown.
const NEEDS_VECTOR: &str = "NOT EXISTS (SELECT 1 FROM gatehouse.item_vector v
    WHERE v.corpus = i.corpus AND v.key = i.key AND v.model = $1
    AND (v.dimension = 0 OR $2::integer IS NULL OR v.dimension = $2))";

impl PostgresVectors {
    /// Returns the vector part of a search.
    pub(crate) async fn search<'a>(
        &self,
        db: &PostgresSession,
        vector: Option<&'a QueryVector>,
    ) -> Result<VectorSearch<'a>> {
        let Some(vector) = vector else { return Ok(VectorSearch::WordsOnly(None)) };
        Ok(match self.inspect(db).await? {
            PgvectorState::Ready(schema) => {
                let dimension = integer(vector.values.len());
                VectorSearch::Query(PgvectorQuery { schema, corpus: self.corpus, vector, dimension })
            }
            PgvectorState::NoTable(_) => VectorSearch::NoVectors,
            PgvectorState::Missing(reason) => VectorSearch::WordsOnly(Some(reason)),
        })
    }

    /// Returns the similarity of the items to a question by number, and the reason if pgvector is missing.
    pub(crate) async fn cosines(
        &self,
        db: &PostgresSession,
        question: &QueryVector,
    ) -> Result<(HashMap<i64, Option<f32>>, Option<String>)> {
        let query = match self.search(db, Some(question)).await? {
            VectorSearch::Query(query) => query,
            VectorSearch::NoVectors => return Ok((HashMap::new(), None)),
            VectorSearch::WordsOnly(reason) => return Ok((HashMap::new(), reason)),
        };
        let sql = format!(
            "SELECT i.number, (1 - v.distance)::real FROM ({}) v JOIN gatehouse.item i ON i.corpus = $2 AND i.key = v.key",
            query.distances_or_none()
        );
        let cosine = |row: &Row| Ok((column(row, 0)?, column(row, 1)?));
        Ok((db.all(&sql, &query.values(), cosine).await?, None))
    }

    /// Returns the health of the store with these vectors, without creating tables. `count` counts the items, and in
    /// `without_vector` those that are embedded.
    pub(crate) async fn health(
        &self,
        model: Option<&VectorModel>,
        count: impl AsyncFnOnce(&PostgresSession, &mut StoreHealth) -> Result<()>,
    ) -> Result<StoreHealth, Fault> {
        let work = async |db: &PostgresSession| {
            let ServerTables::Own(part) = self.server.tables else { return Ok(StoreHealth::default()) };
            let (version, latest) = (part.checked_version(db).await?, part.latest());
            let mut health = StoreHealth {
                engine: "postgres",
                address: self.server.address().to_owned(),
                schema: version.map(|version| (version, latest)),
                ..StoreHealth::default()
            };
            if version.is_some() {
                count(db, &mut health).await?;
            }
            let Some(model) = model else { return Ok(StoreHealth { without_vector: 0, ..health }) };
            match self.inspect(db).await? {
                PgvectorState::Missing(reason) => health.no_vectors = Some(reason),
                PgvectorState::Ready(_) if version == Some(latest) => {
                    let sql = format!(
                        "SELECT count(*) FROM gatehouse.item i WHERE i.corpus = $3 AND {NEEDS_VECTOR}"
                    );
                    let dimension = model.dimension.map(integer);
                    health.without_vector = db.count(&sql, &[&model.name, &dimension, &self.corpus]).await?;
                }
                // The first write or read migrates an older schema.
                PgvectorState::Ready(_) | PgvectorState::NoTable(_) => {}
            }
            Ok(health)
        };
        self.server.inspect_with(work).await
    }
}

/// Stores vectors of items whose version is unchanged and that no other transaction is changing, then deletes those of long unused models. Concurrent writers
/// store the same values.
async fn store(
    db: &PostgresSession,
    schema: &str,
    corpus: &str,
    model: &VectorModel,
    vectors: &[NewVector],
) -> Result<()> {
    let sql = format!(
        "INSERT INTO gatehouse.item_vector (corpus, key, model, dimension, embedding)
         SELECT corpus, key, $3, $4, $5::real[]::{schema}.vector FROM gatehouse.item
         WHERE corpus = $1 AND key = $2 AND version = $6 FOR KEY SHARE SKIP LOCKED
         ON CONFLICT (corpus, key, model) DO UPDATE
         SET dimension = excluded.dimension, embedding = excluded.embedding, made = now()"
    );
    for NewVector { item: VectorItem { key, version }, vector } in vectors {
        let dimension = integer(vector.as_ref().map_or(0, Vec::len));
        db.run(&sql, &[&corpus, key, &model.name, &dimension, vector, version]).await?;
    }
    // Runs after every batch, so it reads the models from the index, one step per model.
    let old = "WITH RECURSIVE known (model) AS (
            (SELECT model FROM gatehouse.item_vector WHERE corpus = $3 ORDER BY model LIMIT 1)
            UNION ALL
            SELECT (SELECT v.model FROM gatehouse.item_vector v
                WHERE v.corpus = $3 AND v.model > known.model ORDER BY v.model LIMIT 1)
            FROM known WHERE known.model IS NOT NULL
        ), outdated AS (
            SELECT model FROM known WHERE model <> $1 AND model IS DISTINCT FROM $4 AND NOT EXISTS (SELECT 1 FROM gatehouse.item_vector v
                WHERE v.corpus = $3 AND v.model = known.model AND v.made > now() - make_interval(days => $2))
        )
        DELETE FROM gatehouse.item_vector WHERE ctid = ANY(ARRAY(SELECT v.ctid FROM gatehouse.item_vector v
            WHERE v.corpus = $3 AND v.model IN (SELECT model FROM outdated) FOR UPDATE SKIP LOCKED))";
    db.run(old, &[&model.name, &UNUSED_MODEL_DAYS, &corpus, &model.searched]).await?;
    Ok(())
}

/// Vector part of a search.
pub(crate) enum VectorSearch<'a> {
    Query(PgvectorQuery<'a>),
    /// No item has a vector yet.
    NoVectors,
    /// The question has no vector, or the server has no pgvector, with the reason.
    WordsOnly(Option<String>),
}

impl<'a> VectorSearch<'a> {
    pub(crate) fn query(&self) -> Option<&PgvectorQuery<'a>> {
        match self {
            Self::Query(query) => Some(query),
            Self::NoVectors | Self::WordsOnly(_) => None,
        }
    }

    /// Returns the reason that a question with a vector is searched by words only.
    pub(crate) fn words_only_reason(&self) -> Option<&String> {
        match self {
            Self::WordsOnly(reason) => reason.as_ref(),
            Self::Query(_) | Self::NoVectors => None,
        }
    }
}

/// A query vector and its pgvector context.
pub(crate) struct PgvectorQuery<'a> {
    schema: String,
    corpus: &'static str,
    vector: &'a QueryVector,
    dimension: i32,
}

impl PgvectorQuery<'_> {
    /// Counts the items that this model has processed.
    pub(crate) async fn count_known(&self, db: &PostgresSession) -> Result<u32> {
        let sql = "SELECT count(*) FROM gatehouse.item_vector WHERE corpus = $1 AND model = $2 AND dimension IN (0, $3)";
        db.count(sql, &[&self.corpus, &self.vector.model, &self.dimension]).await
    }

    /// Returns SQL that selects `key` and `distance` for all comparable vectors. `$1` to `$4` are
    /// [`values`](Self::values).
    pub(crate) fn distances(&self) -> String {
        self.distances_where("v.dimension = $4")
    }

    /// Like [`distances`](Self::distances), but includes items without a vector, with a null distance.
    pub(crate) fn distances_or_none(&self) -> String {
        self.distances_where("v.dimension IN (0, $4)")
    }

    fn distances_where(&self, dimension: &str) -> String {
        let schema = &self.schema;
        // The subquery converts the parameter to a vector once instead of once per row.
        format!(
            "SELECT v.key, v.embedding OPERATOR({schema}.<=>) (SELECT $1::real[]::{schema}.vector) AS distance
             FROM gatehouse.item_vector v WHERE v.corpus = $2 AND v.model = $3 AND {dimension}"
        )
    }

    /// Returns the question's vector, the corpus, the model and the dimension.
    pub(crate) fn values(&self) -> [&(dyn ToSql + Sync); 4] {
        [&self.vector.values, &self.corpus, &self.vector.model, &self.dimension]
    }
}

fn integer(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

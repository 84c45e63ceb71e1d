//! Stored vectors, where the server has pgvector: which pages wait for theirs, writing them, and what is near to a
//! question. Every vector is looked at; with the filters of a search that is exact, and no index is to be built.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use gatehouse_core::outcome::Fault;

use super::{
    super::{error::StoreError, migrations, server::Server, session::Session},
    read::{column, count},
    search::filtered,
};
use crate::embedding::{Made, VectorStore, Waiting};

/// Days after which the vectors of a model go that is not used any more. Until then a change of model can be
/// taken back at no cost, and hosts with different models share one database.
const KEPT: i32 = 30;

/// How the server keeps vectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pgvector {
    /// In this schema, and with the table for them.
    Ready(String),
    /// It is there, and the table is not made yet.
    Fresh(String),
    /// Not at all, and why.
    Missing(String),
}

/// The vectors of a server's pages.
pub(super) struct Vectors {
    server: Arc<Server>,
    /// The schema of pgvector, once the table for vectors is there.
    ready: Mutex<Option<String>>,
    /// Whether the extension was asked for; a server that refuses is not asked again and again.
    tried: AtomicBool,
}

impl Vectors {
    pub(super) fn new(server: Arc<Server>) -> Self {
        Self { server, ready: Mutex::default(), tried: AtomicBool::new(false) }
    }

    /// How the server keeps vectors; changes nothing there.
    pub(super) async fn examined(&self, db: &Session) -> Result<Pgvector, StoreError> {
        let ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match ready {
            Some(schema) => Ok(Pgvector::Ready(schema)),
            None => Pgvector::of(db).await,
        }
    }

    /// The schema of pgvector with the table for vectors made; none where the server has no pgvector.
    async fn schema(&self) -> Result<Option<String>, Fault> {
        if let Some(schema) = &*self.ready.lock().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Some(schema.clone()));
        }
        // The pages' own tables come first.
        let db = self.server.read().await?;
        db.end(Ok(())).await?;
        let db = self.server.session().await?;
        match self.made(&db).await {
            Ok(schema) => {
                db.release();
                self.ready.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&schema);
                Ok(schema)
            }
            Err(error) => Err(db.fail(error).await),
        }
    }

    /// Makes what is missing and may be made: the extension, then the table.
    async fn made(&self, db: &Session) -> Result<Option<String>, StoreError> {
        let mut found = Pgvector::of(db).await?;
        if matches!(found, Pgvector::Missing(_)) && !self.tried.swap(true, Ordering::Relaxed) {
            // Whether it is there to be made, and whether we may, the server knows best.
            match db.batch("CREATE EXTENSION IF NOT EXISTS vector").await {
                Err(error) if error.is_lost() => return Err(error),
                Err(error) => tracing::info!("pgvector cannot be made: {error}"),
                Ok(()) => found = Pgvector::of(db).await?,
            }
        }
        let (Pgvector::Ready(schema) | Pgvector::Fresh(schema)) = found else { return Ok(None) };
        migrations::VECTORS.migrate(db, Some(&schema)).await?;
        Ok(Some(schema))
    }
}

#[async_trait]
impl VectorStore for Vectors {
    async fn waiting(
        &self,
        model: &str,
        dimension: Option<usize>,
        after: i64,
        limit: usize,
    ) -> Result<Vec<Waiting>, Fault> {
        // Without pgvector no page waits: there is nothing to wait for.
        if self.schema().await?.is_none() {
            return Ok(Vec::new());
        }
        let db = self.server.read().await?;
        let found = waiting(&db, model, dimension, after, limit).await;
        db.end(found).await
    }

    async fn store(&self, model: &str, made: Vec<Made>) -> Result<(), Fault> {
        let Some(schema) = self.schema().await? else { return Ok(()) };
        let db = self.server.write().await?;
        let stored = store(&db, &schema, model, &made).await;
        db.end(stored).await
    }
}

/// What a question means: its vector, and under which name the model's vectors are stored.
pub(super) struct Meaning {
    /// The schema of pgvector, as SQL writes it.
    pub(super) schema: String,
    pub(super) model: String,
    pub(super) vector: Vec<f32>,
}

impl Pgvector {
    /// Whether the server has pgvector; changes nothing.
    async fn of(db: &Session) -> Result<Self, StoreError> {
        let sql = "SELECT quote_ident(n.nspname), to_regclass('gatehouse.page_vector') IS NOT NULL
             FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
             WHERE e.extname = 'vector'";
        if let Some(row) = db.maybe(sql, &[]).await? {
            let schema = column(&row, 0)?;
            return Ok(if column(&row, 1)? { Self::Ready(schema) } else { Self::Fresh(schema) });
        }
        let offered = "SELECT 1 FROM pg_catalog.pg_available_extensions WHERE name = 'vector'";
        let why = match db.maybe(offered, &[]).await? {
            Some(_) => "the database has no extension 'vector'; run CREATE EXTENSION vector there",
            None => "the server has no extension 'vector'; install pgvector there",
        };
        Ok(Self::Missing(why.into()))
    }
}

/// How a page `p` is told that waits: `$1` is the model, `$2` the dimension, or null where it is not known yet.
const WAITS: &str =
    "NOT EXISTS (SELECT 1 FROM gatehouse.page_vector v WHERE v.page = p.number AND v.model = $1
    AND (v.dimension = 0 OR $2::integer IS NULL OR v.dimension = $2))";

/// How many pages wait for a vector of this model.
pub(super) async fn count_waiting(
    db: &Session,
    model: &str,
    dimension: Option<usize>,
) -> Result<u32, StoreError> {
    let sql = format!("SELECT count(*) FROM gatehouse.page p WHERE {WAITS}");
    count(&db.one(&sql, &[&model, &dimension.map(integer)]).await?, 0)
}

/// The next pages that wait, by number, after this one.
async fn waiting(
    db: &Session,
    model: &str,
    dimension: Option<usize>,
    after: i64,
    limit: usize,
) -> Result<Vec<Waiting>, StoreError> {
    let sql = format!(
        "SELECT p.number, p.hash, p.title, b.overview, p.domains, b.content
         FROM gatehouse.page p JOIN gatehouse.page_body b ON b.page = p.number
         WHERE p.number > $3 AND {WAITS} ORDER BY p.number LIMIT $4"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = db.rows(&sql, &[&model, &dimension.map(integer), &after, &limit]).await?;
    let waiting = rows.iter().map(|row| {
        Ok(Waiting {
            page: column(row, 0)?,
            hash: column(row, 1)?,
            title: column(row, 2)?,
            overview: column(row, 3)?,
            domains: column(row, 4)?,
            content: column(row, 5)?,
        })
    });
    waiting.collect()
}

/// Stores vectors of pages that are still as they were. Whoever comes second writes the same again.
async fn store(db: &Session, schema: &str, model: &str, made: &[Made]) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO gatehouse.page_vector (page, model, dimension, embedding)
         SELECT number, $2, $3, $4::real[]::{schema}.vector FROM gatehouse.page WHERE number = $1 AND hash = $5
         ON CONFLICT (page, model) DO UPDATE
         SET dimension = excluded.dimension, embedding = excluded.embedding, made = now()"
    );
    for Made { page, hash, vector } in made {
        let dimension = integer(vector.as_ref().map_or(0, Vec::len));
        db.run(&sql, &[page, &model, &dimension, vector, hash]).await?;
    }
    let old = "DELETE FROM gatehouse.page_vector old WHERE model <> $1 AND NOT EXISTS (
            SELECT 1 FROM gatehouse.page_vector v WHERE v.model = old.model AND v.made > now() - make_interval(days => $2))";
    db.run(old, &[&model, &KEPT]).await?;
    Ok(())
}

impl Meaning {
    /// The pages nearest to the question, nearest first, ties by id.
    pub(super) async fn nearest(
        &self,
        db: &Session,
        types: &Option<Vec<&str>>,
        domains: &Option<Vec<String>>,
        limit: i64,
    ) -> Result<Vec<i64>, StoreError> {
        // Pages are looked at where filters or ties need them, not for every vector.
        let wanted = if types.is_none() && domains.is_none() {
            "$4::text[] IS NULL AND $5::text[] IS NULL".to_owned()
        } else {
            format!("v.page IN (SELECT p.number FROM gatehouse.page p WHERE {})", filtered(4, 5))
        };
        let sql = format!(
            "SELECT p.number FROM (
                SELECT v.page, {} AS distance FROM gatehouse.page_vector v
                WHERE v.model = $2 AND v.dimension = $3 AND {wanted} ORDER BY distance FETCH FIRST $6 ROWS WITH TIES
             ) near JOIN gatehouse.page p ON p.number = near.page ORDER BY near.distance, p.id LIMIT $6",
            self.distance()
        );
        let dimension = integer(self.vector.len());
        let rows = db.rows(&sql, &[&self.vector, &self.model, &dimension, types, domains, &limit]).await?;
        rows.iter().map(|row| column(row, 0)).collect()
    }

    /// How many pages the model has been asked about.
    pub(super) async fn held(&self, db: &Session) -> Result<u32, StoreError> {
        let sql = "SELECT count(*) FROM gatehouse.page_vector WHERE model = $1 AND dimension IN (0, $2)";
        count(&db.one(sql, &[&self.model, &integer(self.vector.len())]).await?, 0)
    }

    /// How near each of these pages is, for those that have a vector.
    pub(super) async fn cosines(&self, db: &Session, pages: &[i64]) -> Result<HashMap<i64, f32>, StoreError> {
        let sql = format!(
            "SELECT v.page, 1 - {} FROM gatehouse.page_vector v
             WHERE v.model = $2 AND v.dimension = $3 AND v.page = ANY($4)",
            self.distance()
        );
        let dimension = integer(self.vector.len());
        let rows = db.rows(&sql, &[&self.vector, &self.model, &dimension, &pages]).await?;
        rows.iter().map(|row| Ok((column(row, 0)?, column::<f64>(row, 1)? as f32))).collect()
    }

    /// The cosine distance of a vector `v` from the question, `$1`.
    fn distance(&self) -> String {
        let schema = &self.schema;
        format!("(v.embedding OPERATOR({schema}.<=>) $1::real[]::{schema}.vector)")
    }
}

fn integer(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

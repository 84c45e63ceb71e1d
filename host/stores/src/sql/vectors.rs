//! Items to embed and their vectors, by corpus and key.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::outcome::Fault;
use serde_json::json;

use super::{
    Database, Result, Session,
    database::complete,
    sqlite::{SqliteDatabase, SqliteSession, VectorCache},
    value::storable,
    values,
};
#[cfg(feature = "postgres")]
use super::{
    StoreError,
    postgres::{PostgresSession, PostgresVectors},
};
use crate::engine::{QueryVector, StoreHealth, VectorModel, VectorStore};

const INSERT_ITEMS: &str =
    "INSERT INTO item (corpus, key, version) SELECT ?1, given.value ->> 0, given.value ->> 1
     FROM @json(?2) AS given WHERE true ON CONFLICT DO NOTHING";

/// Vectors of one corpus.
pub(crate) enum Vectors {
    Sqlite {
        db: Arc<SqliteDatabase>,
        cache: VectorCache,
    },
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresVectors>),
}

impl Vectors {
    pub(crate) fn new(db: &Database, corpus: &'static str) -> Self {
        match db {
            Database::Sqlite(db) => Self::Sqlite { db: Arc::clone(db), cache: VectorCache::new(corpus) },
            #[cfg(feature = "postgres")]
            Database::Postgres(server) => {
                Self::Postgres(Arc::new(PostgresVectors::new(Arc::clone(server), corpus)))
            }
        }
    }

    #[cfg(feature = "postgres")]
    async fn has_table(&self, db: &PostgresSession) -> Result<bool> {
        match self {
            Self::Sqlite { .. } => Ok(true),
            Self::Postgres(vectors) => vectors.has_table(db).await,
        }
    }

    /// Copies vectors to new items from older ones with the same version.
    async fn copy_from_twins(&self, db: Session<'_>, corpus: &str, keys: &[String]) -> Result<()> {
        let sql = match db {
            Session::Sqlite(_) => {
                "INSERT INTO vector (item, model, changed, value)
                 SELECT new.number, v.model, v.changed, v.value FROM item new JOIN vector v
                    ON v.item = (SELECT min(number) FROM item WHERE version = new.version AND number < new.number)
                 WHERE new.corpus = ?1 AND new.key IN @texts(?2)"
            }
            #[cfg(feature = "postgres")]
            Session::Postgres(db) if !self.has_table(db).await? => return Ok(()),
            // The limit avoids quadratic work for texts that many chunks share, such as licenses.
            #[cfg(feature = "postgres")]
            Session::Postgres(_) => {
                "INSERT INTO item_vector (corpus, key, model, dimension, embedding)
                 SELECT DISTINCT ON (new.key, v.model) ?1, new.key, v.model, v.dimension, v.embedding
                 FROM item new, LATERAL (SELECT i.key FROM item i
                        WHERE i.version = new.version AND i.corpus = ?1 AND i.key NOT IN @texts(?2) LIMIT 16) twin
                    JOIN item_vector v ON v.corpus = ?1 AND v.key = twin.key
                 WHERE new.corpus = ?1 AND new.key IN @texts(?2) ORDER BY new.key, v.model, twin.key
                 ON CONFLICT DO NOTHING"
            }
        };
        db.run(sql, values![corpus, keys]).await.map(drop)
    }

    /// Returns the similarity of the items to a question by number: `None` for an item for which the model returned no
    /// vector, and nothing for one that waits. Also returns the reason if the engine cannot compare vectors.
    pub(crate) async fn cosines(
        &self,
        db: Session<'_>,
        question: &QueryVector,
    ) -> Result<(HashMap<i64, Option<f32>>, Option<String>)> {
        match (self, db) {
            (Self::Sqlite { cache, .. }, Session::Sqlite(db)) => {
                let cached = cache.load(&db.connection(), question)?;
                Ok((cached.map(|cached| cached.cosines(&question.values)).unwrap_or_default(), None))
            }
            #[cfg(feature = "postgres")]
            (Self::Postgres(vectors), Session::Postgres(db)) => vectors.cosines(db, question).await,
            #[cfg(feature = "postgres")]
            _ => Err(StoreError::invalid("the vectors belong to another engine")),
        }
    }

    pub(crate) fn store(&self) -> Arc<dyn VectorStore> {
        match self {
            Self::Sqlite { db, .. } => Arc::clone(db) as _,
            #[cfg(feature = "postgres")]
            Self::Postgres(vectors) => Arc::clone(vectors) as _,
        }
    }

    /// Returns the health of the store with these vectors, without creating it. `count` counts the items.
    pub(crate) async fn health(
        &self,
        model: Option<&VectorModel>,
        count: impl AsyncFnOnce(Session<'_>, &mut StoreHealth) -> Result<()> + Send + 'static,
    ) -> Result<StoreHealth, Fault> {
        match self {
            Self::Sqlite { db, .. } => {
                let count = move |db: &SqliteSession, health: &mut StoreHealth| {
                    complete(count(Session::Sqlite(db), health))
                };
                db.health(model, count).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(vectors) => {
                vectors.health(model, async |db, health| count(Session::Postgres(db), health).await).await
            }
        }
    }
}

/// Stores an item, or deletes it without a version. Another version deletes its vectors.
pub(crate) async fn put_item(
    db: Session<'_>,
    corpus: &str,
    number: i64,
    key: &str,
    version: &Option<String>,
) -> Result<()> {
    let outdated = "DELETE FROM item WHERE corpus = ?1 AND key = ?2 AND version IS DISTINCT FROM ?3";
    db.run(outdated, values![corpus, key, version]).await?;
    if version.is_some() {
        let put =
            "INSERT INTO item (number, corpus, key, version) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        db.run(put, values![number, corpus, key, version]).await?;
    }
    Ok(())
}

/// Stores items as pairs of key and version, and returns their numbers by key. Another version deletes the item's
/// vectors.
pub(crate) async fn put_items(
    db: Session<'_>,
    corpus: &str,
    items: &[(String, String)],
) -> Result<HashMap<String, i64>> {
    let keys: Vec<String> = items.iter().map(|(key, _)| storable(key).into_owned()).collect();
    let given = items.iter().map(|(key, version)| json!([storable(key), version]));
    let given = serde_json::Value::from_iter(given).to_string();
    let outdated =
        "DELETE FROM item WHERE number IN (SELECT i.number FROM @json(?2) AS given CROSS JOIN item i
            WHERE i.corpus = ?1 AND i.key = given.value ->> 0 AND i.version <> given.value ->> 1)";
    db.run(outdated, values![corpus, given]).await?;
    db.run(INSERT_ITEMS, values![corpus, given]).await?;
    numbers(db, corpus, &keys).await
}

/// Stores items that may exist, as pairs of key and version, and returns their numbers by key. A new item copies the
/// vectors of an older one with the same version, so that a moved text is not embedded again. Versions must depend on
/// the text only and have an index.
pub(crate) async fn add_items(
    db: Session<'_>,
    vectors: &Vectors,
    corpus: &str,
    items: &[(String, String)],
) -> Result<HashMap<String, i64>> {
    let keys: Vec<String> = items.iter().map(|(key, _)| key.clone()).collect();
    let given = serde_json::Value::from_iter(items.iter().map(|(key, version)| json!([key, version])));
    let new: Vec<String> =
        db.column(&format!("{INSERT_ITEMS} RETURNING key"), values![corpus, given.to_string()]).await?;
    vectors.copy_from_twins(db, corpus, &new).await?;
    numbers(db, corpus, &keys).await
}

/// Returns the numbers of items by key.
pub(crate) async fn numbers(db: Session<'_>, corpus: &str, keys: &[String]) -> Result<HashMap<String, i64>> {
    let numbers = "SELECT key, number FROM item WHERE corpus = ?1 AND key IN @texts(?2)";
    db.rows(numbers, values![corpus, keys], |row| Ok((row.get(0)?, row.get(1)?))).await
}

pub(crate) async fn remove_items(db: Session<'_>, corpus: &str, keys: &[String]) -> Result<()> {
    db.run("DELETE FROM item WHERE corpus = ?1 AND key IN @texts(?2)", values![corpus, keys]).await.map(drop)
}

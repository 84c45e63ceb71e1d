//! Items to embed and their vectors, by corpus and key.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::outcome::Fault;
use serde_json::json;

use super::{Database, Result, Session, database::complete, value::storable, values};
#[cfg(feature = "postgres")]
use crate::postgres::PostgresVectors;
use crate::{
    embedding::{VectorModel, VectorStore},
    engine::StoreHealth,
    sqlite::{SqliteDatabase, SqliteSession, VectorCache},
};

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
    let outdated = "DELETE FROM item WHERE corpus = ?1 AND key IN (SELECT i.key FROM @json(?2) AS given
            JOIN item i ON i.corpus = ?1 AND i.key = given.value ->> 0 WHERE i.version <> given.value ->> 1)";
    db.run(outdated, values![corpus, given]).await?;
    let put = "INSERT INTO item (corpus, key, version) SELECT ?1, given.value ->> 0, given.value ->> 1
         FROM @json(?2) AS given WHERE true ON CONFLICT DO NOTHING";
    db.run(put, values![corpus, given]).await?;
    let numbers = "SELECT key, number FROM item WHERE corpus = ?1 AND key IN @texts(?2)";
    db.rows(numbers, values![corpus, keys], |row| Ok((row.get(0)?, row.get(1)?))).await
}

pub(crate) async fn remove_items(db: Session<'_>, corpus: &str, keys: &[String]) -> Result<()> {
    db.run("DELETE FROM item WHERE corpus = ?1 AND key IN @texts(?2)", values![corpus, keys]).await.map(drop)
}

//! Items to embed and their vectors, by corpus and key.

use std::sync::Arc;

use gatehouse_core::outcome::Fault;

use super::{Database, Result, Session, database::complete, values};
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

pub(crate) async fn remove_items(db: Session<'_>, corpus: &str, keys: &[String]) -> Result<()> {
    db.run("DELETE FROM item WHERE corpus = ?1 AND key IN @texts(?2)", values![corpus, keys]).await.map(drop)
}

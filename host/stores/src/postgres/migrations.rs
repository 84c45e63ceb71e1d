//! The tables, as numbered steps for each part. A step that was released is never edited; a
//! change is a new step.
//!
//! Everything lies in the schema `gatehouse`. Each step is one transaction under a lock, so that two hosts that
//! start together take turns. Tables that are newer than this binary are refused and not touched.

use super::{error::StoreError, session::Session};

/// Tables that have versions of their own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its row in `gatehouse.schema_version`.
    pub(super) name: &'static str,
    /// Its version is how many of these it has seen.
    pub(super) steps: &'static [&'static str],
}

/// The knowledge graph.
pub(super) const KNOWLEDGE: Part = Part {
    name: "knowledge",
    steps: &[
        // Pages, their texts, domains and links, and the words they are found by. A page's number is given once: what
        // changes gets a new one. Columns that may hold long texts have hash indexes, which bear any length.
        include_str!("migrations/knowledge-1.sql"),
        // What is searched by meaning, by corpus and key. Until it changes, a page's hash stands for what was embedded.
        include_str!("migrations/knowledge-2.sql"),
    ],
};

/// Vectors, where the server has pgvector; `{vector}` is the schema that pgvector is in.
pub(super) const VECTORS: Part = Part {
    name: "knowledge_vectors",
    steps: &[
        // A vector for each page and model, of whatever dimension; none where the model has nothing to say.
        include_str!("migrations/vectors-1.sql"),
        // The same by corpus and key.
        include_str!("migrations/vectors-2.sql"),
    ],
};

impl Part {
    /// The version of tables that have seen every step.
    pub(super) const fn latest(&self) -> i64 {
        self.steps.len() as i64
    }

    /// The version of the tables there; none where this part has never been stored.
    pub(super) async fn version(&self, db: &Session) -> Result<Option<i64>, StoreError> {
        let there = db.one("SELECT to_regclass('gatehouse.schema_version') IS NOT NULL", &[]).await?;
        if !there.try_get::<_, bool>(0)? {
            return Ok(None);
        }
        let row =
            db.maybe("SELECT version FROM gatehouse.schema_version WHERE part = $1", &[&self.name]).await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// Refuses tables that are newer than this binary.
    pub(super) fn check(&self, found: i64) -> Result<(), StoreError> {
        let known = self.latest();
        if found > known { Err(StoreError::Newer { found, known }) } else { Ok(()) }
    }

    /// Brings the tables up to date; writes nothing where they are. `vector` stands for the schema of pgvector.
    pub(super) async fn migrate(&self, db: &Session, vector: Option<&str>) -> Result<(), StoreError> {
        loop {
            let found = self.version(db).await?.unwrap_or(0);
            self.check(found)?;
            if found == self.latest() {
                return Ok(());
            }
            db.begin_migration().await?;
            let step = self.step(db, vector).await;
            match step {
                Ok(()) => db.batch("COMMIT").await?,
                Err(error) => {
                    // The step's failure is what counts; a connection that cannot roll back is not used again.
                    let _ = db.batch("ROLLBACK").await;
                    return Err(error);
                }
            }
        }
    }

    /// The next step, inside a transaction that holds the lock.
    async fn step(&self, db: &Session, vector: Option<&str>) -> Result<(), StoreError> {
        db.batch(
            "DO $$ BEGIN
                IF to_regnamespace('gatehouse') IS NULL THEN CREATE SCHEMA gatehouse; END IF;
             END $$;
             CREATE TABLE IF NOT EXISTS gatehouse.schema_version (part text PRIMARY KEY, version bigint NOT NULL)",
        )
        .await?;
        let found = self.version(db).await?.unwrap_or(0);
        self.check(found)?;
        // Another host may have done it while this one waited for the lock.
        let Some(step) = usize::try_from(found).ok().and_then(|done| self.steps.get(done)) else {
            return Ok(());
        };
        db.batch(&step.replace("{vector}", vector.unwrap_or("public"))).await?;
        db.run(
            "INSERT INTO gatehouse.schema_version (part, version) VALUES ($1, $2)
             ON CONFLICT (part) DO UPDATE SET version = excluded.version",
            &[&self.name, &(found + 1)],
        )
        .await?;
        Ok(())
    }
}

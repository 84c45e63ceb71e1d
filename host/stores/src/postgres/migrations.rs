//! Schema migrations: numbered steps for each part of the schema `gatehouse`.
//!
//! Never edit a released step; add a new one. Each step runs in one transaction under advisory locks, so concurrent
//! hosts take turns, and no step runs beside a write of its part or of those that it depends on. Tables newer than this
//! binary are rejected unchanged.

use std::time::Duration;

use super::{error::Result, session::PostgresSession};
use crate::sql::schema::{self, SchemaStep, Steps};

/// A group of tables with its own version number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaPart {
    pub(super) name: &'static str,
    pub(super) depends_on: Option<&'static SchemaPart>,
    /// Timeout of locks and statements for writes. `None` uses the connection defaults.
    pub(super) write_timeout: Option<Duration>,
    /// Advisory lock key that serializes writers.
    pub(super) lock_key: i32,
    /// Migration steps. The version counts the applied steps from [`FIRST_VERSION`](schema::FIRST_VERSION).
    pub(super) steps: Steps,
}

pub(crate) const KNOWLEDGE: SchemaPart = SchemaPart {
    name: "knowledge",
    depends_on: None,
    write_timeout: None,
    lock_key: 1,
    steps: crate::knowledge::pages::schema::SCHEMA,
};

/// Documents. They use the items and the text search configuration of the knowledge schema, whose tables can stay
/// empty.
pub(crate) const DOCUMENTS: SchemaPart = SchemaPart {
    name: "documents",
    depends_on: Some(&KNOWLEDGE),
    // Long enough for a few batches of another host. Page edits do not wait for this lock.
    write_timeout: Some(Duration::from_secs(60)),
    lock_key: 2,
    steps: crate::documents::tables::schema::SCHEMA,
};

/// Artifacts. They depend on the knowledge schema for the same reasons as documents.
pub(crate) const ARTIFACTS: SchemaPart = SchemaPart {
    name: "artifacts",
    depends_on: Some(&KNOWLEDGE),
    write_timeout: None,
    lock_key: 3,
    steps: crate::artifacts::schema::SCHEMA,
};

/// Values of gates.
pub(crate) const KV: SchemaPart =
    SchemaPart { name: "kv", depends_on: None, write_timeout: None, lock_key: 4, steps: crate::kv::SCHEMA };

/// API keys.
pub(crate) const KEYS: SchemaPart = SchemaPart {
    name: "keys",
    depends_on: None,
    write_timeout: None,
    lock_key: 5,
    steps: crate::keys::SCHEMA,
};

/// The audit and the use of quotas.
pub(crate) const AUDIT: SchemaPart = SchemaPart {
    name: "audit",
    depends_on: None,
    write_timeout: None,
    lock_key: 6,
    steps: crate::audit::schema::SCHEMA,
};

/// The call ledger.
pub(crate) const LEDGER: SchemaPart = SchemaPart {
    name: "ledger",
    depends_on: None,
    write_timeout: None,
    lock_key: 7,
    steps: crate::ledger::schema::SCHEMA,
};

/// Vectors; requires pgvector. `{vector}` is replaced by the schema of pgvector.
pub(super) const VECTORS: SchemaPart = SchemaPart {
    name: "knowledge_vectors",
    depends_on: Some(&KNOWLEDGE),
    write_timeout: None,
    lock_key: 1,
    // 1: one vector of any dimension per item and model. The vector is null if the model returned none.
    steps: &[SchemaStep::postgres(
        "
    CREATE TABLE gatehouse.item_vector (
        corpus    text COLLATE \"C\" NOT NULL,
        key       text COLLATE \"C\" NOT NULL,
        model     text COLLATE \"C\" NOT NULL,
        dimension integer NOT NULL,
        embedding {vector}.vector,
        made      timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (corpus, key, model),
        FOREIGN KEY (corpus, key) REFERENCES gatehouse.item ON DELETE CASCADE
    );
    CREATE INDEX item_vector_model ON gatehouse.item_vector (corpus, model, dimension);
    ",
    )],
};

impl SchemaPart {
    pub(super) const fn latest(&self) -> i64 {
        schema::latest(self.steps)
    }

    /// Returns this part and its dependencies, dependencies first.
    pub(super) fn all(&self) -> Vec<Self> {
        let mut parts = self.depends_on.map(Self::all).unwrap_or_default();
        parts.push(*self);
        parts
    }

    /// Returns the version of the stored tables. `None` if this part does not exist yet.
    pub(super) async fn version(&self, db: &PostgresSession) -> Result<Option<i64>> {
        if !db.value("SELECT to_regclass('gatehouse.schema_version') IS NOT NULL", &[]).await? {
            return Ok(None);
        }
        let row = db
            .query_opt("SELECT version FROM gatehouse.schema_version WHERE part = $1", &[&self.name])
            .await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?)
    }

    /// Returns the version of the stored tables. Fails if it or that of a dependency is too new.
    pub(super) async fn checked_version(&self, db: &PostgresSession) -> Result<Option<i64>> {
        let mut version = None;
        for part in self.all() {
            version = part.version(db).await?;
            part.check(version.unwrap_or(0))?;
        }
        Ok(version)
    }

    /// Rejects a version that this binary does not support. 0 is that of tables that do not exist yet.
    pub(super) fn check(&self, version: i64) -> Result<()> {
        schema::check(self.steps, version)
    }

    /// Applies all missing steps. `vector` is the schema of pgvector.
    pub(super) async fn migrate(&self, db: &PostgresSession, vector: Option<&str>) -> Result<()> {
        loop {
            let version = self.version(db).await?.unwrap_or(0);
            self.check(version)?;
            if version == self.latest() {
                return Ok(());
            }
            db.begin_migration(self).await?;
            let step = self.step(db, vector).await;
            match step {
                Ok(()) => db.batch("COMMIT").await?,
                Err(error) => {
                    // Return the error of the step. A connection that fails to roll back is not reused.
                    let _ = db.batch("ROLLBACK").await;
                    return Err(error);
                }
            }
        }
    }

    /// Applies the next step in a transaction that holds the lock.
    async fn step(&self, db: &PostgresSession, vector: Option<&str>) -> Result<()> {
        db.batch(
            "DO $$ BEGIN
                IF to_regnamespace('gatehouse') IS NULL THEN CREATE SCHEMA gatehouse; END IF;
             END $$;
             CREATE TABLE IF NOT EXISTS gatehouse.schema_version (part text PRIMARY KEY, version bigint NOT NULL)",
        )
        .await?;
        let version = self.version(db).await?.unwrap_or(0);
        self.check(version)?;
        // Another host can have applied the step while this one waited for the lock.
        let Some((step, version)) = schema::next(self.steps, version) else { return Ok(()) };
        db.batch(&step.postgres_statements().replace("{vector}", vector.unwrap_or("public"))).await?;
        db.run(
            "INSERT INTO gatehouse.schema_version (part, version) VALUES ($1, $2)
             ON CONFLICT (part) DO UPDATE SET version = excluded.version",
            &[&self.name, &version],
        )
        .await?;
        Ok(())
    }
}

//! One connection for one unit of work.
//!
//! Every statement has a time limit. If a session is dropped before it ends, its statement is canceled on the server
//! and its connection is discarded.

use std::{future::Future, sync::Arc, time::Duration};

use deadpool_postgres::{Client, Object};
use gatehouse_core::outcome::Fault;
use sha2::{Digest as _, Sha256};
use tokio_postgres::{
    Row,
    types::{FromSqlOwned, ToSql},
};

use super::{
    error::{Result, StoreError, column, count},
    migrations::SchemaPart,
    server::{PostgresServer, ServerTables},
};
use crate::sql::Turn;

pub(crate) type SqlValues<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Time that the client waits beyond the server's own statement timeout.
const CLIENT_GRACE: Duration = Duration::from_secs(1);

/// Time limit of one migration step, which can read every page.
const MAX_MIGRATION_TIME: Duration = Duration::from_secs(600);

/// First key of every advisory lock. The second key selects the lock.
const LOCK_NAMESPACE: i32 = i32::from_be_bytes(*b"gate");

/// Second key of the lock that serializes migrations. Those of writers are in [`SchemaPart`].
const MIGRATION_LOCK: i32 = 0;

fn advisory_lock(key: i32) -> String {
    format!("SELECT pg_advisory_xact_lock({LOCK_NAMESPACE}, {key})")
}

fn shared_advisory_lock(key: i32) -> String {
    format!("SELECT pg_advisory_xact_lock_shared({LOCK_NAMESPACE}, {key})")
}

/// Returns the statement that waits for a turn. Turns of the same name with other keys almost never share a lock.
fn turn_lock(turn: &Turn<'_>) -> String {
    let key = |name: &str, key: &str| {
        let digest = Sha256::new().chain_update(name).chain_update([0]).chain_update(key).finalize();
        i32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]])
    };
    match turn {
        Turn::Shared(name) => shared_advisory_lock(key(name, "")),
        Turn::Alone(name) => advisory_lock(key(name, "")),
        Turn::Key(name, value) => advisory_lock(key(name, value)),
    }
}

pub(crate) struct PostgresSession {
    /// `None` after the connection was returned to the pool.
    client: Option<Client>,
    server: Arc<PostgresServer>,
    limit: Duration,
}

pub(super) enum CommitOutcome {
    Committed,
    Failed(StoreError),
    /// The connection was lost before the server confirmed the commit.
    Unknown(StoreError),
}

impl PostgresSession {
    pub(super) fn new(client: Client, server: Arc<PostgresServer>) -> Self {
        let limit = server.config.times.statement + CLIENT_GRACE;
        Self { client: Some(client), server, limit }
    }

    fn client(&self) -> Result<&Client> {
        self.client
            .as_ref()
            .ok_or_else(|| StoreError::InvalidValue("the connection was already released".into()))
    }

    async fn with_timeout<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T> {
        match tokio::time::timeout(self.limit, work).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(StoreError::Timeout(self.limit)),
        }
    }

    pub(crate) async fn rows(&self, sql: &str, values: SqlValues<'_>) -> Result<Vec<Row>> {
        let client = self.client()?;
        self.with_timeout(async { client.query(&client.prepare_cached(sql).await?, values).await }).await
    }

    pub(crate) async fn one(&self, sql: &str, values: SqlValues<'_>) -> Result<Row> {
        let client = self.client()?;
        self.with_timeout(async { client.query_one(&client.prepare_cached(sql).await?, values).await }).await
    }

    pub(crate) async fn query_opt(&self, sql: &str, values: SqlValues<'_>) -> Result<Option<Row>> {
        let client = self.client()?;
        self.with_timeout(async { client.query_opt(&client.prepare_cached(sql).await?, values).await }).await
    }

    /// Decodes all rows.
    pub(crate) async fn all<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        values: SqlValues<'_>,
        read: impl Fn(&Row) -> Result<T>,
    ) -> Result<C> {
        self.rows(sql, values).await?.iter().map(read).collect()
    }

    /// Returns the first column of all rows.
    pub(crate) async fn column<T: FromSqlOwned>(&self, sql: &str, values: SqlValues<'_>) -> Result<Vec<T>> {
        self.all(sql, values, |row| column(row, 0)).await
    }

    /// Returns the first column of the only row.
    pub(crate) async fn value<T: FromSqlOwned>(&self, sql: &str, values: SqlValues<'_>) -> Result<T> {
        column(&self.one(sql, values).await?, 0)
    }

    /// Returns the count in the only row.
    pub(crate) async fn count(&self, sql: &str, values: SqlValues<'_>) -> Result<u32> {
        count(&self.one(sql, values).await?, 0)
    }

    /// Executes a statement and returns the number of affected rows.
    pub(crate) async fn run(&self, sql: &str, values: SqlValues<'_>) -> Result<u64> {
        let client = self.client()?;
        self.with_timeout(async { client.execute(&client.prepare_cached(sql).await?, values).await }).await
    }

    /// Executes statements without parameters.
    pub(crate) async fn batch(&self, sql: &str) -> Result<()> {
        let client = self.client()?;
        self.with_timeout(client.batch_execute(sql)).await
    }

    pub(super) async fn begin_read(&self) -> Result<()> {
        // Sends both statements in one round trip.
        let begin = self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        futures_util::future::try_join(begin, self.check()).await.map(|_| ())
    }

    /// Begins a transaction with these turns. Migrations of the schema part and of those that it
    /// depends on run alone.
    pub(super) async fn begin_write(&mut self, turns: &[Turn<'_>]) -> Result<()> {
        let ServerTables::Own(part) = self.server.tables else {
            return Err(StoreError::UnsupportedTables(
                "the tables belong to another program and are read-only".into(),
            ));
        };
        let mut write_timeout = String::new();
        if let Some(limit) = part.write_timeout {
            let ms = limit.as_millis();
            write_timeout = format!("SET LOCAL lock_timeout = {ms}; SET LOCAL statement_timeout = {ms}; ");
            self.limit = limit + CLIENT_GRACE;
        }
        let parts = part.all().into_iter().rev().map(|part| shared_advisory_lock(part.lock_key));
        let locks: Vec<_> = parts.chain(turns.iter().map(turn_lock)).collect();
        // Omits READ WRITE, so that a server default of read-only transactions applies.
        let begin = format!("BEGIN ISOLATION LEVEL READ COMMITTED; {write_timeout}{}", locks.join("; "));
        // Sends both in one round trip.
        futures_util::future::try_join(self.batch(&begin), self.check()).await.map(|_| ())
    }

    /// Begins a migration step under the writer locks of its part and the parts that it depends on, and the migration
    /// lock: a step locks tables in another order than a write does, so the two together could deadlock.
    pub(super) async fn begin_migration(&self, part: &SchemaPart) -> Result<()> {
        let limit = MAX_MIGRATION_TIME.as_millis();
        let lock_timeout = part.write_timeout.map(|limit| {
            // As long as a writer of this part waits for another.
            format!("SET LOCAL lock_timeout = {}; ", limit.as_millis())
        });
        // The part itself comes first, so that waiting for it does not hold up writers of the others.
        let writers = part.all().into_iter().rev().map(|part| part.lock_key);
        let locks: Vec<_> = writers.chain([MIGRATION_LOCK]).map(advisory_lock).collect();
        self.batch(&format!(
            "BEGIN; SET LOCAL statement_timeout = {limit}; {}{}",
            lock_timeout.unwrap_or_default(),
            locks.join("; ")
        ))
        .await
    }

    /// Ends work that ran outside a transaction.
    pub(super) async fn finish<T>(self, result: Result<T>) -> Result<T, Fault> {
        match result {
            Ok(value) => {
                self.release();
                Ok(value)
            }
            Err(error) => Err(self.rollback_fault(error).await),
        }
    }

    pub(super) fn with_migration_timeout(mut self) -> Self {
        self.limit = MAX_MIGRATION_TIME + CLIENT_GRACE;
        self
    }

    /// Returns the connection to the pool. Requires that no transaction is open.
    pub(super) fn release(mut self) {
        self.client = None;
    }

    /// Checks the schema versions: another host can have migrated to a version that this binary does not support.
    async fn check(&self) -> Result<()> {
        let ServerTables::Own(part) = self.server.tables else { return Ok(()) };
        let sql = "SELECT part, version FROM gatehouse.schema_version";
        let part_versions: Vec<(String, i64)> =
            self.all(sql, &[], |row| Ok((column(row, 0)?, column(row, 1)?))).await?;
        for part in part.all() {
            let version =
                part_versions.iter().find(|(name, _)| name == part.name).map(|(_, version)| *version);
            part.check(version.ok_or(StoreError::TablesMissing)?)?;
        }
        Ok(())
    }

    /// Commits if `result` is `Ok`, else rolls back.
    pub(super) async fn finish_transaction<T>(self, result: Result<T>) -> Result<T, Fault> {
        match result {
            Ok(value) => {
                let server = Arc::clone(&self.server);
                match self.commit().await {
                    CommitOutcome::Committed => Ok(value),
                    CommitOutcome::Failed(error) | CommitOutcome::Unknown(error) => Err(server.fault(error)),
                }
            }
            Err(error) => Err(self.rollback_fault(error).await),
        }
    }

    pub(super) async fn commit(mut self) -> CommitOutcome {
        match self.batch("COMMIT").await {
            Ok(()) => {
                self.client = None;
                CommitOutcome::Committed
            }
            Err(error) if error.is_lost() => CommitOutcome::Unknown(error),
            Err(error) => CommitOutcome::Failed(error),
        }
    }

    /// Rolls back and converts the error to a fault.
    pub(super) async fn rollback_fault(self, error: StoreError) -> Fault {
        let server = Arc::clone(&self.server);
        server.fault(self.roll_back(error).await)
    }

    /// Rolls back after an error, which it returns.
    pub(super) async fn roll_back(mut self, error: StoreError) -> StoreError {
        if error.is_lost() {
            // The idle connections lead to the same server and would fail one by one.
            self.server.close_idle();
        } else if self.batch("ROLLBACK").await.is_ok() {
            self.client = None;
        }
        if error.is_missing() {
            self.server.recheck_schema();
        }
        error
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        // Dropped before it ended: remove the connection from the pool to free its slot, and cancel the statement.
        let client = Object::take(client);
        let (cancel, tls) = (client.cancel_token(), self.server.connector());
        let limit = self.server.config.times.connect;
        if let (Ok(runtime), Some(tls)) = (tokio::runtime::Handle::try_current(), tls) {
            runtime.spawn(async move {
                // If the request fails, the server's statement timeout ends the statement.
                let _ = tokio::time::timeout(limit, cancel.cancel_query(tls)).await;
                drop(client);
            });
        }
    }
}

//! One connection, for one piece of work. Every statement has an end; work that is given up in the middle is
//! ended on the server, and its connection is not used again.

use std::{future::Future, sync::Arc, time::Duration};

use deadpool_postgres::{Client, Object};
use gatehouse_core::outcome::Fault;
use tokio_postgres::{Row, types::ToSql};

use super::{
    error::{StoreError, column},
    server::{PostgresState, ServerTables},
};

/// What statements are given.
pub(super) type SqlValues<'a> = &'a [&'a (dyn ToSql + Sync)];

/// How much longer than the server we wait for a statement that the server is to end by itself.
const CLIENT_GRACE: Duration = Duration::from_secs(1);

/// The most that a step of the schema may take: it may have to read every page.
const MAX_MIGRATION_TIME: Duration = Duration::from_secs(600);

/// The first number of every advisory lock of Gatehouse; the second says what for.
const LOCK_NAMESPACE: i32 = i32::from_be_bytes(*b"gate");

/// A connection that is ours until this ends.
pub(super) struct PostgresSession {
    /// There until it is given back.
    client: Option<Client>,
    shared: Arc<PostgresState>,
    limit: Duration,
}

/// How a transaction ended that was to be kept.
pub(super) enum CommitOutcome {
    /// It is kept.
    Committed,
    /// It is not.
    Failed(StoreError),
    /// The connection was lost before the server said.
    Unknown(StoreError),
}

impl PostgresSession {
    pub(super) fn new(client: Client, shared: Arc<PostgresState>) -> Self {
        let limit = shared.config.times.statement + CLIENT_GRACE;
        Self { client: Some(client), shared, limit }
    }

    fn client(&self) -> Result<&Client, StoreError> {
        self.client.as_ref().ok_or_else(|| StoreError::Damaged("the connection was given back".into()))
    }

    async fn with_timeout<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(self.limit, work).await {
            Ok(result) => Ok(result?),
            Err(_) => Err(StoreError::Silent(self.limit)),
        }
    }

    /// Every row.
    pub(super) async fn rows(&self, sql: &str, values: SqlValues<'_>) -> Result<Vec<Row>, StoreError> {
        let client = self.client()?;
        self.with_timeout(async { client.query(&client.prepare_cached(sql).await?, values).await }).await
    }

    /// The one row.
    pub(super) async fn one(&self, sql: &str, values: SqlValues<'_>) -> Result<Row, StoreError> {
        let client = self.client()?;
        self.with_timeout(async { client.query_one(&client.prepare_cached(sql).await?, values).await }).await
    }

    /// The row, if there is one.
    pub(super) async fn query_opt(
        &self,
        sql: &str,
        values: SqlValues<'_>,
    ) -> Result<Option<Row>, StoreError> {
        let client = self.client()?;
        self.with_timeout(async { client.query_opt(&client.prepare_cached(sql).await?, values).await }).await
    }

    /// Runs a statement; gives how many rows it touched.
    pub(super) async fn run(&self, sql: &str, values: SqlValues<'_>) -> Result<u64, StoreError> {
        let client = self.client()?;
        self.with_timeout(async { client.execute(&client.prepare_cached(sql).await?, values).await }).await
    }

    /// Runs statements without values.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        let client = self.client()?;
        self.with_timeout(client.batch_execute(sql)).await
    }

    /// Begins to read, on one unchanging state of the tables.
    pub(super) async fn begin_read(&self) -> Result<(), StoreError> {
        // Sent together, answered together.
        let begin = self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        futures_util::future::try_join(begin, self.check()).await.map(|_| ())
    }

    /// Begins to write, alone: hosts that share a database take turns.
    pub(super) async fn begin_write(&mut self) -> Result<(), StoreError> {
        let ServerTables::Own(part) = self.shared.tables else {
            return Err(StoreError::Unfit("the tables are another program's and only read".into()));
        };
        let mut patience = String::new();
        if let Some(limit) = part.patience {
            let ms = limit.as_millis();
            patience = format!("SET LOCAL lock_timeout = {ms}; SET LOCAL statement_timeout = {ms}; ");
            self.limit = limit + CLIENT_GRACE;
        }
        // Not READ WRITE: where the server's owner made transactions read-only, they stay so.
        self.batch(&format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; {patience}SELECT pg_advisory_xact_lock({LOCK_NAMESPACE}, {})",
            part.turn
        ))
        .await?;
        self.check().await
    }

    /// Begins a step of the schema, alone.
    pub(super) async fn begin_migration(&self) -> Result<(), StoreError> {
        let limit = MAX_MIGRATION_TIME.as_millis();
        self.batch(&format!(
            "BEGIN; SET LOCAL statement_timeout = {limit}; SELECT pg_advisory_xact_lock({LOCK_NAMESPACE}, 0)"
        ))
        .await
    }

    /// Ends work for which nothing was begun.
    pub(super) async fn finish<T>(self, result: Result<T, StoreError>) -> Result<T, Fault> {
        match result {
            Ok(value) => {
                self.release();
                Ok(value)
            }
            Err(error) => Err(self.rollback_fault(error).await),
        }
    }

    /// Lets statements take as long as a step of the schema may.
    pub(super) fn with_migration_timeout(mut self) -> Self {
        self.limit = MAX_MIGRATION_TIME + CLIENT_GRACE;
        self
    }

    /// Gives the connection back; nothing is begun on it.
    pub(super) fn release(mut self) {
        self.client = None;
    }

    /// Another host may have brought the tables to a version that this one does not know.
    async fn check(&self) -> Result<(), StoreError> {
        let ServerTables::Own(part) = self.shared.tables else { return Ok(()) };
        let rows = self.rows("SELECT part, version FROM gatehouse.schema_version", &[]).await?;
        let found: Vec<(String, i64)> = rows
            .iter()
            .map(|row| Ok((column(row, 0)?, column(row, 1)?)))
            .collect::<Result<_, StoreError>>()?;
        for part in part.all() {
            let version = found.iter().find(|(name, _)| name == part.name).map(|(_, version)| *version);
            part.check(version.ok_or(StoreError::Gone)?)?;
        }
        Ok(())
    }

    /// Ends a transaction: what was done is kept where the work succeeded, and only then.
    pub(super) async fn finish_transaction<T>(self, result: Result<T, StoreError>) -> Result<T, Fault> {
        match result {
            Ok(value) => {
                let shared = Arc::clone(&self.shared);
                match self.commit().await {
                    CommitOutcome::Committed => Ok(value),
                    CommitOutcome::Failed(error) | CommitOutcome::Unknown(error) => Err(shared.fault(error)),
                }
            }
            Err(error) => Err(self.rollback_fault(error).await),
        }
    }

    /// Keeps what was done.
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

    /// Drops what was done, and says why.
    pub(super) async fn rollback_fault(mut self, error: StoreError) -> Fault {
        if error.is_lost() {
            // The others are to the same server; they would be found out one by one.
            self.shared.forget();
        } else if self.batch("ROLLBACK").await.is_ok() {
            self.client = None;
        }
        if error.is_missing() {
            self.shared.close();
        }
        self.shared.fault(error)
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        let Some(client) = self.client.take() else { return };
        // Given up in the middle: the connection leaves the pool, which makes room for another, and the server
        // is told to stop.
        let client = Object::take(client);
        let (cancel, tls) = (client.cancel_token(), self.shared.connector());
        let limit = self.shared.config.times.connect;
        if let (Ok(runtime), Some(tls)) = (tokio::runtime::Handle::try_current(), tls) {
            runtime.spawn(async move {
                // A server that cannot be told ends the statement by its own clock.
                let _ = tokio::time::timeout(limit, cancel.cancel_query(tls)).await;
                drop(client);
            });
        }
    }
}

//! A connection that one unit of work uses at a time.

use std::sync::{Mutex, MutexGuard};

use gatehouse_core::{lock, outcome::Fault};
use rusqlite::{Connection, Row, params_from_iter};

use super::db::Database;
use crate::sql::{Result, Session, SqlValue};

/// A connection that can be shared between the threads that poll a future, one after another.
pub(crate) struct SqliteSession(Mutex<Connection>);

impl SqliteSession {
    pub(crate) fn new(connection: Connection) -> Self {
        Self(Mutex::new(connection))
    }

    pub(crate) fn connection(&self) -> MutexGuard<'_, Connection> {
        lock(&self.0)
    }

    /// Executes a statement and returns the number of changed rows.
    pub(crate) fn run(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<u64> {
        Ok(self.connection().prepare_cached(sql)?.execute(params_from_iter(values))? as u64)
    }

    pub(crate) fn rows<T, C: FromIterator<T>>(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
        read: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<C> {
        self.connection().prepare_cached(sql)?.query_and_then(params_from_iter(values), read)?.collect()
    }

    /// Runs work in a transaction, which `begin` begins, and which commits only if the work succeeds.
    pub(super) fn transaction<T>(&self, begin: &str, work: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        self.run(begin, &[])?;
        let transaction = OpenTransaction(self);
        let value = work(self)?;
        self.run("COMMIT", &[])?;
        drop(transaction);
        Ok(value)
    }
}

/// Rolls back when dropped, unless the transaction has ended.
struct OpenTransaction<'s>(&'s SqliteSession);

impl Drop for OpenTransaction<'_> {
    fn drop(&mut self) {
        if !self.0.connection().is_autocommit()
            && let Err(error) = self.0.run("ROLLBACK", &[])
        {
            tracing::warn!("cannot roll back: {error}");
        }
    }
}

impl Database {
    /// Like [`read`](Self::read), for work on a session. Returns errors of `work` unconverted.
    pub(crate) async fn read_session<T: Send + 'static>(
        &self,
        work: impl FnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, Fault> {
        self.run_on_reader(move |session| work(Session::Sqlite(session))).await
    }

    /// Like [`write`](Self::write), for work on a session. Returns errors of `work` unconverted.
    pub(crate) async fn write_session<T: Send + 'static>(
        &self,
        work: impl FnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, Fault> {
        let work = |session: &SqliteSession| {
            session.transaction("BEGIN IMMEDIATE", |session| work(Session::Sqlite(session)))
        };
        self.run_session_on_writer(work).await
    }
}

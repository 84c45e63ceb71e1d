//! Units of work on a server: transactions that read or write, and looks at it without one.

use std::sync::{Arc, atomic::Ordering};

use gatehouse_core::outcome::Fault;

use super::{
    error::Result,
    server::{PostgresServer, ServerTables},
    session::{CommitOutcome, PostgresSession},
};
use crate::sql::{Commit, Turn};

impl PostgresServer {
    /// Runs `work` in a read-only transaction on a snapshot.
    pub(crate) async fn read_with<T>(
        self: &Arc<Self>,
        work: impl AsyncFnOnce(&PostgresSession) -> Result<T>,
    ) -> Result<T, Fault> {
        self.migrate_once().await?;
        let db = self.session().await?;
        let result = match db.begin_read().await {
            Ok(()) => work(&db).await,
            Err(error) => Err(error),
        };
        db.finish_transaction(result).await
    }

    /// Runs `work` in a transaction with these turns. Returns errors of `work` unconverted.
    pub(crate) async fn write_with<T>(
        self: &Arc<Self>,
        turns: &[Turn<'_>],
        work: impl AsyncFnOnce(&PostgresSession) -> Result<T>,
    ) -> Result<Result<Commit<T>>, Fault> {
        let db = self.begin_write(turns).await?;
        let value = match work(&db).await {
            Ok(value) => value,
            Err(error) => return Ok(Err(db.roll_back(error).await)),
        };
        match db.commit().await {
            CommitOutcome::Committed => Ok(Ok(Commit::Done(value))),
            CommitOutcome::Failed(error) => Err(self.fault(error)),
            CommitOutcome::Unknown(error) => Ok(Ok(Commit::Unknown(self.fault(error)))),
        }
    }

    /// Returns true if the tables exist, without creating them.
    pub(crate) async fn has_tables(self: &Arc<Self>) -> Result<bool, Fault> {
        let ServerTables::Own(part) = self.tables else { return Ok(true) };
        Ok(self.ready.load(Ordering::Acquire)
            || self.inspect_with(async |db| part.version(db).await).await?.is_some())
    }

    /// Runs `work` outside a transaction, without migrating or checking the tables.
    pub(super) async fn inspect_with<T>(
        self: &Arc<Self>,
        work: impl AsyncFnOnce(&PostgresSession) -> Result<T>,
    ) -> Result<T, Fault> {
        let db = self.session().await?;
        let result = work(&db).await;
        db.finish(result).await
    }

    /// Begins a transaction with these turns.
    pub(super) async fn begin_write(self: &Arc<Self>, turns: &[Turn<'_>]) -> Result<PostgresSession, Fault> {
        self.migrate_once().await?;
        let mut session = self.session().await?;
        match session.begin_write(turns).await {
            Ok(()) => Ok(session),
            Err(error) => Err(session.rollback_fault(error).await),
        }
    }
}

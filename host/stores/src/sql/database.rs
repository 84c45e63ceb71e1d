//! The database of a domain on either engine.

use std::{
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use gatehouse_core::outcome::Fault;

use super::{
    error::{Result, StoreError},
    session::Session,
};
#[cfg(feature = "postgres")]
use crate::sql::postgres::PostgresServer;
use crate::sql::sqlite::SqliteDatabase;

/// The writes that a write waits for. SQLite runs one at a time anyway.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Turn<'a> {
    /// Writes with [`Alone`](Self::Alone) and the same name.
    Shared(&'static str),
    /// Writes with any turn of the same name.
    Alone(&'static str),
    /// Writes with the same name and key.
    Key(&'static str, &'a str),
}

/// The end of a write.
pub(crate) enum Commit<T> {
    Done(T),
    /// The connection was lost before the server confirmed the commit.
    Unknown(Fault),
}

impl<T> Commit<T> {
    /// Returns the value. Fails if it is unknown whether the write was committed.
    pub(crate) fn known(self) -> Result<T, Fault> {
        match self {
            Self::Done(value) => Ok(value),
            Self::Unknown(fault) => Err(fault),
        }
    }
}

#[derive(Clone)]
pub(crate) enum Database {
    Sqlite(Arc<SqliteDatabase>),
    #[cfg(feature = "postgres")]
    Postgres(Arc<PostgresServer>),
}

impl Database {
    /// Runs a read on one snapshot. On PostgreSQL, dropping the future cancels its statement on the server.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_read(work).await?.map_err(|error| self.fault(error))
    }

    /// Like [`read`](Self::read), but returns errors of `work` on a file unconverted.
    pub(crate) async fn try_read<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, Fault> {
        match self {
            Self::Sqlite(db) => db.read_session(move |session| complete(work(session))).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => {
                server.read_with(async |db| work(Session::Postgres(db)).await).await.map(Ok)
            }
        }
    }

    /// Runs a write in one transaction, which commits only if `work` succeeds.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        turns: &[Turn<'_>],
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.write_known(turns, work).await?.known()
    }

    /// Like [`write`](Self::write), but a commit that may have failed is no error.
    pub(crate) async fn write_known<T: Send + 'static>(
        &self,
        turns: &[Turn<'_>],
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Commit<T>, Fault> {
        self.try_write(turns, work).await?.map_err(|error| self.fault(error))
    }

    /// Like [`write_known`](Self::write_known), but returns errors of `work` unconverted.
    pub(crate) async fn try_write<T: Send + 'static>(
        &self,
        turns: &[Turn<'_>],
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Result<Commit<T>>, Fault> {
        match self {
            Self::Sqlite(db) => {
                let result = db.write_session(move |session| complete(work(session))).await?;
                Ok(result.map(Commit::Done))
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => {
                server.write_with(turns, async |db| work(Session::Postgres(db)).await).await
            }
        }
    }

    /// Returns the name of the engine.
    pub(crate) fn engine(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => "postgres",
        }
    }

    /// Returns the kind of place and the place itself, without credentials: `database` and a file, or `address`.
    pub(crate) fn place(&self) -> (&'static str, String) {
        match self {
            Self::Sqlite(db) => ("database", db.path().to_string_lossy().into_owned()),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => ("address", server.address().to_owned()),
        }
    }

    pub(crate) fn fault(&self, error: StoreError) -> Fault {
        match self {
            Self::Sqlite(db) => db.fault(error),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.fault(error),
        }
    }

    /// Returns true if all writes run alone, whatever their turns.
    pub(crate) fn has_one_writer(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Like [`read`](Self::read), but returns the default if nothing was ever stored. Does not create a database.
    pub(crate) async fn read_existing<T: Default + Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        if self.exists().await? { self.read(work).await } else { Ok(T::default()) }
    }

    /// Like [`write`](Self::write), but returns the default if nothing was ever stored. Does not create a database.
    pub(crate) async fn write_existing<T: Default + Send + 'static>(
        &self,
        turns: &[Turn<'_>],
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        if self.exists().await? { self.write(turns, work).await } else { Ok(T::default()) }
    }

    /// Returns true if anything was ever stored.
    pub(crate) async fn exists(&self) -> Result<bool, Fault> {
        match self {
            Self::Sqlite(db) => Ok(db.exists().await),
            #[cfg(feature = "postgres")]
            Self::Postgres(server) => server.has_tables().await,
        }
    }

    /// Returns free pages of a file to the file system.
    pub(crate) async fn reclaim_space(&self) -> Result<(), Fault> {
        match self {
            Self::Sqlite(db) => db.reclaim_space().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => Ok(()),
        }
    }

    /// Closes a file permanently, after running reads and accepted writes.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(db) => db.close().await,
            #[cfg(feature = "postgres")]
            Self::Postgres(_) => {}
        }
    }
}

/// Returns the result of work on SQLite, whose statements never wait.
pub(crate) fn complete<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(StoreError::invalid("a statement on SQLite waited")),
    }
}

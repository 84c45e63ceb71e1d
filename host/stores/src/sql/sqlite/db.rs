//! One database file, opened on first use, with one writer thread and a few reader connections. Nothing blocks the
//! async runtime. If opening fails, the next call tries again.

pub(crate) mod create;
mod health;
mod identity;
mod reader;
mod writer;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{lock, outcome::Fault};
use rusqlite::{Connection, Transaction};
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

pub(crate) use self::identity::identity;
pub(crate) use self::reader::{open_read_only, open_reader};
pub(crate) use self::writer::DatabaseProfile;
pub(crate) use self::writer::open_writer;
use self::{
    identity::FileIdentity,
    writer::{BUSY_TIMEOUT, WriteJob, WriterThread, in_transaction},
};
use super::{
    kind::FileKind,
    lock::DatabaseLock,
    maintenance::{checkpoint, free_some_pages},
    session::SqliteSession,
};
use crate::sql::{Result, StoreError};

const MAX_READERS: usize = 4;

const MAX_CLOSE_READ_TIME: Duration = Duration::from_secs(1);

/// Work that takes longer stays in the `-wal` file, so nothing is lost.
const MAX_CLOSE_WRITE_TIME: Duration = Duration::from_secs(10);

pub(crate) struct Database {
    shared: Arc<SharedDatabase>,
    permits: Arc<Semaphore>,
}

struct SharedDatabase {
    kind: &'static FileKind,
    path: PathBuf,
    profile: DatabaseProfile,
    open: Mutex<DatabaseState>,
}

enum DatabaseState {
    /// Also the state after a failed attempt to open.
    Unopened,
    Open(Arc<OpenDatabase>),
    /// Permanent.
    Closed,
}

/// Fields drop in order: readers before the writer, which then is the last connection and checkpoints. The lock that
/// prevents a replacement of the file goes last.
struct OpenDatabase {
    /// Device and inode of the file that was opened. `None` in memory.
    identity: Option<FileIdentity>,
    idle: Mutex<Vec<SqliteSession>>,
    writer: WriterThread,
    _lock: Option<DatabaseLock>,
}

impl Database {
    /// Creates a database that the first use opens and migrates.
    pub(crate) fn new(kind: &'static FileKind, path: PathBuf) -> Self {
        Self::with_profile(kind, path, kind.profile)
    }

    fn with_profile(kind: &'static FileKind, path: PathBuf, profile: DatabaseProfile) -> Self {
        let shared =
            Arc::new(SharedDatabase { kind, path, profile, open: Mutex::new(DatabaseState::Unopened) });
        Self { shared, permits: Arc::new(Semaphore::new(MAX_READERS)) }
    }

    pub(crate) fn in_memory(kind: &'static FileKind) -> Self {
        Self::with_profile(kind, ":memory:".into(), DatabaseProfile::Memory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.shared.path
    }

    pub(super) fn corpus(&self) -> &'static str {
        self.shared.kind.corpus
    }

    /// Runs a read on a consistent snapshot of the database.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let done = self.run_on_reader(move |session| work(&session.connection())).await?;
        done.map_err(|error| self.shared.fault(error))
    }

    pub(super) async fn run_on_reader<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SqliteSession) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, Fault> {
        if self.shared.profile == DatabaseProfile::Memory {
            return self.run_session_on_writer(work).await;
        }
        let shared = Arc::clone(&self.shared);
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| self.closed_fault())?;
        let run = move || {
            // Limits concurrency until the work is done, even if the caller is canceled.
            let _permit = permit;
            match shared.get_or_open() {
                Ok(open) => open.read(&shared, work),
                Err(error) => shared.read_without_writing(error, work),
            }
        };
        tokio::task::spawn_blocking(run).await.map_err(|_| self.closed_fault())
    }

    /// Runs a write in one transaction, which commits only if `work` succeeds.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_write(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// Like [`Self::write`], but returns errors of `work` unconverted.
    pub(crate) async fn try_write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, Fault> {
        self.run_on_writer(|connection| in_transaction(connection, work)).await
    }

    /// Returns free pages to the file system in small steps, so that writers can proceed in between.
    pub(crate) async fn reclaim_space(&self) -> Result<(), Fault> {
        while self.write(|db| free_some_pages(db)).await? {}
        let work = |connection: &mut Connection| {
            checkpoint(connection);
            Ok(connection.busy_timeout(BUSY_TIMEOUT)?)
        };
        self.run_on_writer(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// Runs `work` on the writer connection. Returns errors of `work` and of opening unconverted.
    pub(crate) async fn run_on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, Fault> {
        self.run_session_on_writer(|session| work(&mut session.connection())).await
    }

    pub(crate) async fn run_session_on_writer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SqliteSession) -> Result<T> + Send + 'static,
    ) -> Result<Result<T>, Fault> {
        let (answer, answered) = oneshot::channel();
        let job: WriteJob = Box::new(move |session| {
            let result = catch_unwind(AssertUnwindSafe(|| work(session)));
            // A panic drops the sender, so the receiver fails. A canceled caller does not stop the work.
            if let Ok(result) = result {
                let _ = answer.send(result);
            }
        });
        let shared = Arc::clone(&self.shared);
        let send = move || shared.with_open(|open| open.writer.send(job));
        match tokio::task::spawn_blocking(send).await.map_err(|_| self.closed_fault())? {
            Ok(sent) => sent.map_err(|()| self.closed_fault())?,
            Err(error) => return Ok(Err(error)),
        }
        answered.await.map_err(|_| self.closed_fault())
    }

    /// Returns true if the file exists. Health checks and sweeps must not create it.
    pub(crate) async fn exists(&self) -> bool {
        tokio::fs::try_exists(self.path()).await.unwrap_or(true)
    }

    /// Closes the database permanently, after running reads and accepted writes.
    pub(crate) async fn close(&self) {
        let open = std::mem::replace(&mut *lock(&self.shared.open), DatabaseState::Closed);
        let DatabaseState::Open(open) = open else { return };
        let _ = timeout(MAX_CLOSE_READ_TIME, self.permits.acquire_many(MAX_READERS as u32)).await;
        let _ = timeout(MAX_CLOSE_WRITE_TIME, tokio::task::spawn_blocking(move || drop(open))).await;
    }

    pub(crate) fn fault(&self, error: StoreError) -> Fault {
        self.shared.fault(error)
    }

    fn closed_fault(&self) -> Fault {
        let SharedDatabase { kind, path, .. } = &*self.shared;
        Fault::internal(format!("{} at {}: database task ended unexpectedly", kind.subject, path.display()))
            .hint("This is a bug in gatehouse; see its log on stderr.")
    }
}

impl SharedDatabase {
    /// Returns true if what is at the path now is used, whatever was opened.
    fn is_replaceable(&self) -> bool {
        self.kind.is_replaceable && self.profile != DatabaseProfile::Memory
    }

    /// Reads keys or the audit although the file cannot be opened for writing, as on a full or read-only disk. Returns
    /// `error` for other files, and if reading fails, too.
    fn read_without_writing<T>(
        &self,
        error: StoreError,
        work: impl FnOnce(&SqliteSession) -> Result<T>,
    ) -> Result<T> {
        if !self.is_replaceable() || !error.is_unwritable() {
            return Err(error);
        }
        match open_read_only(&self.path, self.kind.steps) {
            Ok(connection) => SqliteSession::new(connection).transaction("BEGIN", work),
            Err(_) => Err(error),
        }
    }

    fn fault(&self, error: StoreError) -> Fault {
        error.into_fault(self.kind.subject, &self.path)
    }

    fn get_or_open(&self) -> Result<Arc<OpenDatabase>> {
        self.with_open(Arc::clone)
    }

    /// Runs short work on the open database, which cannot close during it.
    fn with_open<T>(&self, work: impl FnOnce(&Arc<OpenDatabase>) -> T) -> Result<T> {
        let mut slot = lock(&self.open);
        if self.is_replaceable()
            && matches!(&*slot, DatabaseState::Open(open) if open.identity != identity(&self.path))
        {
            let path = self.path.display();
            tracing::warn!("{path} was replaced or removed while it was open; what is there now is used");
            *slot = DatabaseState::Unopened;
        }
        if let DatabaseState::Unopened = *slot {
            let steps = self.kind.steps;
            let lock = if self.profile == DatabaseProfile::Memory {
                None
            } else {
                create::ensure(&self.path, steps, self.profile)?;
                Some(DatabaseLock::try_shared(&self.path)?)
            };
            let writer = WriterThread::start(&self.path, steps, self.profile)?;
            let open =
                OpenDatabase { identity: identity(&self.path), idle: Mutex::default(), writer, _lock: lock };
            *slot = DatabaseState::Open(Arc::new(open));
        }
        match &*slot {
            DatabaseState::Open(open) => Ok(work(open)),
            DatabaseState::Unopened | DatabaseState::Closed => Err(StoreError::Closed),
        }
    }
}

impl OpenDatabase {
    fn read<T>(&self, shared: &SharedDatabase, work: impl FnOnce(&SqliteSession) -> Result<T>) -> Result<T> {
        let idle = lock(&self.idle).pop();
        let session = match idle {
            Some(session) => session,
            None => SqliteSession::new(open_reader(&shared.path, shared.kind.steps)?),
        };
        let result = session.transaction("BEGIN", work);
        if result.is_ok() {
            lock(&self.idle).push(session);
        }
        result
    }
}

#[cfg(test)]
mod tests;

//! One database file, opened on first use, with one writer thread and a few reader connections. Nothing blocks the
//! async runtime. If opening fails, the next call tries again.

pub(super) mod create;
mod open;
mod writer;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{
    lock,
    outcome::{Fault, FaultKind},
};
use rusqlite::{Connection, Transaction};
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

use self::writer::{WriteJob, WriterThread, in_transaction};
pub(super) use self::{
    open::open_reader,
    writer::{Options, open_writer},
};
use super::{
    copy::{leave_one_file, shrink},
    error::StoreError,
    lock::DatabaseLock,
    migrations::MigrationSteps,
};

/// Default time that a connection waits for a writer in another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const MAX_CACHE_BYTES: i64 = 8 * 1024 * 1024;

const MAX_READERS: usize = 4;

const MAX_CLOSE_READ_TIME: Duration = Duration::from_secs(1);

/// Work that takes longer stays in the `-wal` file, so nothing is lost.
const MAX_CLOSE_WRITE_TIME: Duration = Duration::from_secs(10);

pub(super) struct Database {
    shared: Arc<SharedDatabase>,
    permits: Arc<Semaphore>,
}

struct SharedDatabase {
    /// Name of the database for faults.
    subject: &'static str,
    path: PathBuf,
    steps: MigrationSteps,
    options: Options,
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
    idle: Mutex<Vec<Connection>>,
    writer: WriterThread,
    _lock: Option<DatabaseLock>,
}

impl Database {
    /// Creates a database that the first use opens and migrates.
    pub(super) fn new(subject: &'static str, path: PathBuf, steps: MigrationSteps) -> Self {
        Self::with_busy_timeout(subject, path, steps, BUSY_TIMEOUT)
    }

    /// Creates a database for temporary data: deleted content is overwritten, and [`Database::reclaim_space`] shrinks
    /// the file.
    pub(super) fn temporary(subject: &'static str, path: PathBuf, steps: MigrationSteps) -> Self {
        Self::with_options(subject, path, steps, Options { temporary: true, ..Options::new(BUSY_TIMEOUT) })
    }

    /// Creates a database for counters. It uses little memory, and a power failure, but not a crash, may lose the last
    /// writes.
    pub(super) fn for_counters(subject: &'static str, path: PathBuf, steps: MigrationSteps) -> Self {
        Self::with_options(subject, path, steps, Options { counts: true, ..Options::new(BUSY_TIMEOUT) })
    }

    pub(super) fn in_memory(subject: &'static str, steps: MigrationSteps) -> Self {
        let options = Options { memory: true, ..Options::new(BUSY_TIMEOUT) };
        Self::with_options(subject, ":memory:".into(), steps, options)
    }

    /// Creates a database that waits up to `busy` for a writer in another process.
    pub(super) fn with_busy_timeout(
        subject: &'static str,
        path: PathBuf,
        steps: MigrationSteps,
        busy: Duration,
    ) -> Self {
        Self::with_options(subject, path, steps, Options::new(busy))
    }

    fn with_options(subject: &'static str, path: PathBuf, steps: MigrationSteps, options: Options) -> Self {
        let shared = Arc::new(SharedDatabase {
            subject,
            path,
            steps,
            options,
            open: Mutex::new(DatabaseState::Unopened),
        });
        Self { shared, permits: Arc::new(Semaphore::new(MAX_READERS)) }
    }

    pub(super) fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Runs a read on a consistent snapshot of the database.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_read(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// Like [`Self::read`], but returns errors of `work` unconverted.
    pub(super) async fn try_read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, StoreError>, Fault> {
        if self.shared.options.memory {
            return self.try_job(|connection| work(connection)).await;
        }
        let shared = Arc::clone(&self.shared);
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(|_| self.closed_fault())?;
        let run = move || {
            // Limits concurrency until the work is done, even if the caller is canceled.
            let _permit = permit;
            shared.get_or_open().and_then(|open| open.read(&shared, work))
        };
        tokio::task::spawn_blocking(run).await.map_err(|_| self.closed_fault())
    }

    /// Runs a write in one transaction, which commits only if `work` succeeds.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_write(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// Like [`Self::write`], but returns errors of `work` unconverted.
    pub(super) async fn try_write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, StoreError>, Fault> {
        self.try_job(|connection| in_transaction(connection, work)).await
    }

    /// Like [`Self::write`], but a full disk is `exhausted`, because the caller can free space.
    pub(super) async fn write_or_exhausted<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        let done = self.try_job(|connection| in_transaction(connection, work)).await?;
        done.map_err(|error| {
            let full = error.is_full();
            let fault = self.shared.fault(error);
            if full { Fault { kind: FaultKind::Exhausted, ..fault } } else { fault }
        })
    }

    /// Returns free pages to the file system in small steps, so that writers can proceed in between.
    pub(super) async fn reclaim_space(&self) -> Result<(), Fault> {
        while self.write(|db| shrink(db)).await? {}
        self.job(|connection| {
            leave_one_file(connection);
            Ok(connection.busy_timeout(BUSY_TIMEOUT)?)
        })
        .await
    }

    async fn job<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_job(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// Like [`Self::job`], but returns errors of `work` and of opening unconverted.
    pub(super) async fn try_job<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, StoreError>, Fault> {
        let (answer, answered) = oneshot::channel();
        let job: WriteJob = Box::new(move |connection| {
            let result = catch_unwind(AssertUnwindSafe(|| work(connection)));
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

    /// Runs work that opens its own connections, and converts its errors to faults.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        let done = tokio::task::spawn_blocking(work).await.map_err(|_| self.closed_fault())?;
        done.map_err(|error| self.shared.fault(error))
    }

    /// Closes the database permanently, after running reads and accepted writes.
    pub(super) async fn close(&self) {
        let open = std::mem::replace(&mut *lock(&self.shared.open), DatabaseState::Closed);
        let DatabaseState::Open(open) = open else { return };
        let _ = timeout(MAX_CLOSE_READ_TIME, self.permits.acquire_many(MAX_READERS as u32)).await;
        let _ = timeout(MAX_CLOSE_WRITE_TIME, tokio::task::spawn_blocking(move || drop(open))).await;
    }

    pub(super) fn fault(&self, error: StoreError) -> Fault {
        self.shared.fault(error)
    }

    fn closed_fault(&self) -> Fault {
        let SharedDatabase { subject, path, .. } = &*self.shared;
        Fault::internal(format!("{subject} at {}: database task ended unexpectedly", path.display()))
            .hint("This is a bug in gatehouse; see its log on stderr.")
    }
}

impl SharedDatabase {
    fn fault(&self, error: StoreError) -> Fault {
        error.into_fault(self.subject, &self.path)
    }

    fn get_or_open(&self) -> Result<Arc<OpenDatabase>, StoreError> {
        self.with_open(Arc::clone)
    }

    /// Runs short work on the open database, which cannot close during it.
    fn with_open<T>(&self, work: impl FnOnce(&Arc<OpenDatabase>) -> T) -> Result<T, StoreError> {
        let mut slot = lock(&self.open);
        if let DatabaseState::Unopened = *slot {
            let lock = if self.options.memory {
                None
            } else {
                create::ensure(&self.path, self.steps, self.options)?;
                Some(DatabaseLock::try_shared(&self.path)?)
            };
            let writer = WriterThread::start(&self.path, self.steps, self.options)?;
            *slot =
                DatabaseState::Open(Arc::new(OpenDatabase { idle: Mutex::default(), writer, _lock: lock }));
        }
        match &*slot {
            DatabaseState::Open(open) => Ok(work(open)),
            DatabaseState::Unopened | DatabaseState::Closed => Err(StoreError::Closed),
        }
    }
}

#[cfg(test)]
mod tests;

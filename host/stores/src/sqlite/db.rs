//! One database file: opened on first use, one thread that writes, a few connections that read.
//!
//! Nothing blocks the async runtime: reads run on its blocking threads, writes on the writer's own. An
//! opening that fails is tried again by the next call. Knows no table.

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

/// How long a connection waits for another process that writes, where nothing else is said.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of the database that a reading connection keeps in memory at most.
const MAX_CACHE_BYTES: i64 = 8 * 1024 * 1024;

/// How many reads run at the same time.
const MAX_READERS: usize = 4;

/// How long reads that run may take to end when the database is closed.
const MAX_CLOSE_READ_TIME: Duration = Duration::from_secs(1);

/// How long the last writes, and bringing everything into the one file, may take when it is closed. What is
/// left undone stays in the file beside it, and nothing is lost.
const MAX_CLOSE_WRITE_TIME: Duration = Duration::from_secs(10);

/// A database file, open or not yet.
pub(super) struct Database {
    shared: Arc<SharedDatabase>,
    permits: Arc<Semaphore>,
}

struct SharedDatabase {
    /// Whose database it is, for faults.
    subject: &'static str,
    path: PathBuf,
    steps: MigrationSteps,
    options: Options,
    open: Mutex<DatabaseState>,
}

enum DatabaseState {
    /// Not opened, or not with success.
    Unopened,
    Open(Arc<OpenDatabase>),
    /// Closed for good.
    Closed,
}

/// The order matters: connections that cannot write go before the one that can, which then is the last and leaves
/// one whole file; that nobody may replace the file holds to the end.
struct OpenDatabase {
    idle: Mutex<Vec<Connection>>,
    writer: WriterThread,
    /// `None` in memory.
    _lock: Option<DatabaseLock>,
}

impl Database {
    /// A database that will be opened, and brought up to date by these steps, when it is needed.
    pub(super) fn new(subject: &'static str, path: PathBuf, steps: MigrationSteps) -> Self {
        Self::with_busy_timeout(subject, path, steps, BUSY_TIMEOUT)
    }

    /// The same for what is kept for a while only: what was deleted leaves no trace, and [`Database::give_back`] makes the
    /// file smaller.
    pub(super) fn temporary(subject: &'static str, path: PathBuf, steps: MigrationSteps) -> Self {
        Self::with_options(subject, path, steps, Options { temporary: true, ..Options::new(BUSY_TIMEOUT) })
    }

    /// The same for counts that are written all the time: small in memory, and a power cut may take the last of them, which
    /// the end of a process does not.
    pub(super) fn for_counters(subject: &'static str, path: PathBuf, steps: MigrationSteps) -> Self {
        Self::with_options(subject, path, steps, Options { counts: true, ..Options::new(BUSY_TIMEOUT) })
    }

    /// A database in memory, with one connection for all.
    pub(super) fn in_memory(subject: &'static str, steps: MigrationSteps) -> Self {
        let options = Options { memory: true, ..Options::new(BUSY_TIMEOUT) };
        Self::with_options(subject, ":memory:".into(), steps, options)
    }

    /// The same that waits so long for another process that writes.
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

    /// The file.
    pub(super) fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Runs work that reads, on one unchanging state of the database.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_read(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// The same with the failure of the work as it is.
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
            // DataFile until the work is done, even if nobody waits for it any more.
            let _permit = permit;
            shared.get_or_open().and_then(|open| open.read(&shared, work))
        };
        tokio::task::spawn_blocking(run).await.map_err(|_| self.closed_fault())
    }

    /// Runs work that writes, in one transaction: it is kept when the work succeeds, and only then.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_write(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// The same with the failure of the work as it is.
    pub(super) async fn try_write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, StoreError>, Fault> {
        self.try_job(|connection| in_transaction(connection, work)).await
    }

    /// The same for work that somebody can make room for: a full disk is `exhausted`.
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

    /// Gives the place of what was deleted back to the disk, a stretch at a time, so that others can write in between.
    pub(super) async fn reclaim_space(&self) -> Result<(), Fault> {
        while self.write(|db| shrink(db)).await? {}
        self.job(|connection| {
            leave_one_file(connection);
            Ok(connection.busy_timeout(BUSY_TIMEOUT)?)
        })
        .await
    }

    /// Runs work on the thread that writes.
    async fn job<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        self.try_job(work).await?.map_err(|error| self.shared.fault(error))
    }

    /// The same with the failure of the work, or of opening the database, as it is.
    pub(super) async fn try_job<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, StoreError>, Fault> {
        let (answer, answered) = oneshot::channel();
        let job: WriteJob = Box::new(move |connection| {
            let result = catch_unwind(AssertUnwindSafe(|| work(connection)));
            // Where it panicked the answer is dropped, and whoever waits is told; where nobody waits any
            // more, the work is done all the same.
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

    /// Runs work that opens what it needs by itself; its failures become faults all the same.
    pub(super) async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Fault> {
        let done = tokio::task::spawn_blocking(work).await.map_err(|_| self.closed_fault())?;
        done.map_err(|error| self.shared.fault(error))
    }

    /// Closes the database for good: reads that run end, what was accepted is written, and everything is in the one
    /// file, not in the `-wal` beside it, as far as other processes let go of it.
    pub(super) async fn close(&self) {
        let open = std::mem::replace(&mut *lock(&self.shared.open), DatabaseState::Closed);
        let DatabaseState::Open(open) = open else { return };
        let _ = timeout(MAX_CLOSE_READ_TIME, self.permits.acquire_many(MAX_READERS as u32)).await;
        let _ = timeout(MAX_CLOSE_WRITE_TIME, tokio::task::spawn_blocking(move || drop(open))).await;
    }

    /// The fault that callers get for a failure.
    pub(super) fn fault(&self, error: StoreError) -> Fault {
        self.shared.fault(error)
    }

    fn closed_fault(&self) -> Fault {
        let SharedDatabase { subject, path, .. } = &*self.shared;
        Fault::internal(format!("{subject} at {}: the work ended without an answer", path.display()))
            .hint("This is a mistake in gatehouse; its log on stderr says where.")
    }
}

impl SharedDatabase {
    fn fault(&self, error: StoreError) -> Fault {
        error.into_fault(self.subject, &self.path)
    }

    /// The open database; opens it where that has not happened or did not succeed.
    fn get_or_open(&self) -> Result<Arc<OpenDatabase>, StoreError> {
        self.with_open(Arc::clone)
    }

    /// The same for something short. The database is not closed meanwhile.
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

//! The writer connection of a database, and the thread that owns it.

use std::{
    path::Path,
    sync::mpsc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::{
    sql::sqlite::{maintenance::checkpoint, migrations, session::SqliteSession},
    sql::{Result, StoreError, schema::Steps},
};

/// Maximum bytes of the `-wal` file after a checkpoint.
const MAX_WAL_BYTES: i64 = 16 * 1024 * 1024;

/// Pause before reopening a file that other processes are opening.
const REOPEN_PAUSE: Duration = Duration::from_millis(10);

pub(super) type WriteJob = Box<dyn FnOnce(&SqliteSession) + Send>;

const COUNTER_CACHE_KIB: i64 = 512;

/// Default time that a connection waits for a writer in another process.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseProfile {
    Default,
    /// Waits this long for a writer in another process.
    BusyTimeout(Duration),
    /// Deleted content is overwritten, and [`Database::reclaim_space`](super::Database::reclaim_space) shrinks the file.
    Temporary,
    /// Uses little memory. A power failure, but not a crash, may lose the last writes.
    Counters,
    /// Deleted content is always overwritten.
    Erasable,
    Memory,
}

impl DatabaseProfile {
    fn busy_timeout(self) -> Duration {
        if let Self::BusyTimeout(limit) = self { limit } else { BUSY_TIMEOUT }
    }
}

/// The thread that owns the writer connection. It ends when this is dropped.
pub(super) struct WriterThread {
    jobs: Option<mpsc::Sender<WriteJob>>,
    thread: Option<JoinHandle<()>>,
}

pub(super) fn in_transaction<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T>,
) -> Result<T> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

impl WriterThread {
    pub(super) fn start(path: &Path, steps: Steps, profile: DatabaseProfile) -> Result<Self> {
        let session = SqliteSession::new(open_writer(path, steps, profile)?);
        let (jobs, queue) = mpsc::channel::<WriteJob>();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || {
                queue.into_iter().for_each(|job| job(&session));
                checkpoint(&session.connection());
            })
            .map_err(StoreError::Writer)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    pub(super) fn send(&self, job: WriteJob) -> Result<(), ()> {
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or(())
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.jobs = None;
        // Complete all accepted jobs before the database counts as closed.
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("database writer thread panicked");
        }
    }
}

/// Opens the database for writing and migrates it.
pub(crate) fn open_writer(path: &Path, steps: Steps, profile: DatabaseProfile) -> Result<Connection> {
    let begin = Instant::now();
    loop {
        // Two processes that create the same file can collide at a point without a busy timeout.
        match try_open(path, steps, profile) {
            Err(error) if error.is_busy() && begin.elapsed() < profile.busy_timeout() => {
                std::thread::sleep(REOPEN_PAUSE)
            }
            other => return other,
        }
    }
}

fn try_open(path: &Path, steps: Steps, profile: DatabaseProfile) -> Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(profile.busy_timeout())?;
    migrations::check(&connection, steps)?;
    if profile == DatabaseProfile::Temporary {
        // `auto_vacuum` needs a file without pages. `fast` overwrites deleted content unless that needs an extra write.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        let _set: i64 =
            connection.pragma_update_and_check(None, "secure_delete", "fast", |row| row.get(0))?;
    }
    if matches!(profile, DatabaseProfile::Erasable | DatabaseProfile::Counters) {
        let _set: i64 = connection.pragma_update_and_check(None, "secure_delete", "on", |row| row.get(0))?;
    }
    connection.pragma_update(None, "foreign_keys", true)?;
    // Readers do not wait for the writer, and a killed process leaves no partial write. `synchronous` stays FULL, so
    // committed transactions survive a power failure.
    let _mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    // Without a limit, the `-wal` file keeps the size of the longest transaction.
    let _limit: i64 =
        connection.pragma_update_and_check(None, "journal_size_limit", MAX_WAL_BYTES, |row| row.get(0))?;
    if profile == DatabaseProfile::Counters {
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "cache_size", -COUNTER_CACHE_KIB)?;
    }
    migrations::migrate(&mut connection, steps)?;
    Ok(connection)
}

//! The one connection of a database that writes, and the thread that owns it.

use std::{
    path::Path,
    sync::mpsc,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::sqlite::{
    copy::leave_one_file,
    error::StoreError,
    functions,
    migrations::{self, MigrationSteps},
};

/// Bytes that the `-wal` file keeps when what was in it is in the database.
const MAX_WAL_BYTES: i64 = 16 * 1024 * 1024;

/// The pause before a file is opened again that others were opening.
const REOPEN_PAUSE: Duration = Duration::from_millis(10);

/// Work for the writer.
pub(super) type WriteJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// KiB that the writing connection to counts keeps in memory at most.
const COUNTS_CACHE: i64 = 512;

/// How the connection that writes is set up.
#[derive(Clone, Copy)]
pub(in crate::sqlite) struct Options {
    /// How long it waits for another process that writes.
    pub(super) busy: Duration,
    /// Whether what was deleted is overwritten, and its place can be given back to the disk.
    pub(super) temporary: bool,
    /// Whether little memory and little waiting for the disk count for more than the last second before a power cut.
    pub(super) counts: bool,
    /// Whether it is in memory.
    pub(super) memory: bool,
}

impl Options {
    pub(in crate::sqlite) fn new(busy: Duration) -> Self {
        Self { busy, temporary: false, counts: false, memory: false }
    }
}

/// The thread that owns the connection that writes; it ends when this is dropped.
pub(super) struct WriterThread {
    jobs: Option<mpsc::Sender<WriteJob>>,
    thread: Option<JoinHandle<()>>,
}

/// Runs work in a transaction, which is kept when the work succeeds, and only then.
pub(super) fn in_transaction<T>(
    connection: &mut Connection,
    work: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let value = work(&transaction)?;
    transaction.commit()?;
    Ok(value)
}

impl WriterThread {
    /// Opens the database and starts the thread.
    pub(super) fn start(path: &Path, steps: MigrationSteps, options: Options) -> Result<Self, StoreError> {
        let mut connection = open_writer(path, steps, options)?;
        let (jobs, queue) = mpsc::channel::<WriteJob>();
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || {
                queue.into_iter().for_each(|job| job(&mut connection));
                leave_one_file(&connection);
            })
            .map_err(StoreError::Writer)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Takes work on, which is done after all that was taken on before.
    pub(super) fn send(&self, job: WriteJob) -> Result<(), ()> {
        self.jobs.as_ref().and_then(|jobs| jobs.send(job).ok()).ok_or(())
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.jobs = None;
        // What was accepted is written before the database counts as closed.
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes to a database panicked");
        }
    }
}

/// Opens the database to write, and brings it up to date; waits for others that do the same.
pub(in crate::sqlite) fn open_writer(
    path: &Path,
    steps: MigrationSteps,
    options: Options,
) -> Result<Connection, StoreError> {
    let begin = Instant::now();
    loop {
        // Two that make the same file at once can meet where SQLite does not wait by itself.
        match try_open(path, steps, options) {
            Err(error) if error.is_busy() && begin.elapsed() < options.busy => {
                std::thread::sleep(REOPEN_PAUSE)
            }
            other => return other,
        }
    }
}

fn try_open(path: &Path, steps: MigrationSteps, options: Options) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(options.busy)?;
    migrations::check(&connection, steps)?;
    if options.temporary {
        // Only a file without a page yet takes the first; what it deletes later is overwritten where that costs no more
        // writing.
        connection.pragma_update(None, "auto_vacuum", "incremental")?;
        let _set: i64 =
            connection.pragma_update_and_check(None, "secure_delete", "fast", |row| row.get(0))?;
    }
    connection.pragma_update(None, "foreign_keys", true)?;
    // Readers do not wait for the writer, and a killed process leaves nothing half done. `synchronous`
    // stays at FULL: what was acknowledged survives a power cut too.
    let _mode: String = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    // A long transaction makes a long `-wal`, which would stay so long.
    let _limit: i64 =
        connection.pragma_update_and_check(None, "journal_size_limit", MAX_WAL_BYTES, |row| row.get(0))?;
    if options.counts {
        connection.pragma_update(None, "synchronous", "normal")?;
        connection.pragma_update(None, "cache_size", -COUNTS_CACHE)?;
    }
    functions::register(&connection)?;
    migrations::migrate(&mut connection, steps)?;
    Ok(connection)
}

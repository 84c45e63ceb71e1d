//! Databases as single files: checkpoints on close, and online copies with integrity checks.

use std::{path::Path, time::Duration};

use gatehouse_core::outcome::Fault;
use rusqlite::{Connection, backup::Backup};

use super::{
    db::{create::private_file, open_reader},
    error::StoreError,
    lock::DatabaseLock,
    migrations::{self, MigrationSteps},
};

/// Maximum time that the checkpoint waits for other processes.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) const COPY_PAGES: i32 = 4096;

const FREED_PAGES: u32 = 2048;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFile {
    Knowledge,
    Kv,
    Documents,
    Artifacts,
    Tools,
    Ledger,
}

impl DataFile {
    pub const ALL: [Self; 6] =
        [Self::Knowledge, Self::Kv, Self::Documents, Self::Artifacts, Self::Tools, Self::Ledger];

    pub const fn file(self) -> &'static str {
        match self {
            Self::Knowledge => "knowledge.db",
            Self::Kv => "kv.db",
            Self::Documents => "documents.db",
            Self::Artifacts => "artifacts.db",
            Self::Tools => "tools.db",
            Self::Ledger => "ledger.db",
        }
    }

    pub(super) const fn subject(self) -> &'static str {
        match self {
            Self::Knowledge => "knowledge engine 'sqlite'",
            Self::Kv => "key-value store of the gates",
            Self::Documents => "document store 'sqlite'",
            Self::Artifacts => "artifact store 'sqlite'",
            Self::Tools => "the tool catalog",
            Self::Ledger => "the ledger",
        }
    }

    pub(super) const fn steps(self) -> MigrationSteps {
        match self {
            Self::Knowledge => migrations::KNOWLEDGE,
            Self::Kv => migrations::KV,
            Self::Documents => migrations::DOCUMENTS,
            Self::Artifacts => migrations::ARTIFACTS,
            Self::Tools => migrations::TOOLS,
            Self::Ledger => migrations::LEDGER,
        }
    }
}

/// Copies the databases of one directory into another, as of one moment, and checks the copies. Hosts may read and
/// write during the copy. Returns the schema versions. Blocks.
///
/// # Errors
/// `unavailable`, naming the file, if it cannot be read or written, is damaged, or is newer than this binary.
pub fn copy(from: &Path, to: &Path) -> Result<Vec<(DataFile, i64)>, Fault> {
    let there = DataFile::ALL.into_iter().filter(|file| from.join(file.file()).exists());
    let mut open = Vec::new();
    for file in there {
        let path = from.join(file.file());
        let source = begin(file, &path).map_err(|error| error.into_fault(file.subject(), &path))?;
        open.push((file, source));
    }
    let mut copied = Vec::new();
    for (file, (source, _lock)) in open {
        let path = to.join(file.file());
        copy_one(&source, &path).map_err(|error| error.into_fault(file.subject(), &path))?;
        copied.push((file, check(file, &path)?));
    }
    Ok(copied)
}

/// Opens a connection whose snapshot is the current state of the database.
fn begin(file: DataFile, path: &Path) -> Result<(Connection, DatabaseLock), StoreError> {
    let lock = DatabaseLock::try_shared(path)?;
    let source = open_reader(path, file.steps())?;
    source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")?;
    Ok((source, lock))
}

fn copy_one(source: &Connection, to: &Path) -> Result<(), StoreError> {
    private_file(to).map_err(StoreError::File)?;
    let mut target = Connection::open(to)?;
    Backup::new(source, &mut target)?.run_to_completion(COPY_PAGES, Duration::ZERO, None)?;
    // Leave a single file without a write-ahead log.
    let _mode: String = target.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get(0))?;
    target.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Returns the schema version if the file is intact and this binary supports it. Blocks.
pub fn check(file: DataFile, path: &Path) -> Result<i64, Fault> {
    checked(file, path, "integrity_check")
}

/// Checks each existing database, which hosts may be using. Faster than [`check`], because it does not compare indexes
/// with their tables. Blocks.
pub fn check_all(state: &Path) -> Vec<(DataFile, Result<i64, Fault>)> {
    let there = DataFile::ALL.into_iter().filter(|file| state.join(file.file()).exists());
    let check_one = |file: DataFile| {
        let path = state.join(file.file());
        let locked = DatabaseLock::lock_shared(file, &path);
        (file, locked.and_then(|_lock| checked(file, &path, "quick_check")))
    };
    there.map(check_one).collect()
}

fn checked(file: DataFile, path: &Path, pragma: &str) -> Result<i64, Fault> {
    let checked = || {
        let db = open_reader(path, file.steps())?;
        check_integrity(&db, pragma)?;
        migrations::version(&db)
    };
    checked().map_err(|error| error.into_fault(file.subject(), path))
}

pub(super) fn check_integrity(db: &Connection, pragma: &str) -> Result<(), StoreError> {
    let result: String = db.query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0))?;
    if result == "ok" {
        return Ok(());
    }
    // The first line only names the database.
    let lines = result.lines().filter(|line| !line.starts_with("***"));
    Err(StoreError::NotIntact(lines.collect::<Vec<_>>().join("; ")))
}

/// Moves everything from the `-wal` file into the database, so that the file alone can be copied.
pub(super) fn checkpoint(connection: &Connection) {
    let _ = connection.busy_timeout(CHECKPOINT_TIMEOUT);
    let moved = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    match moved {
        Ok(0) => {}
        Ok(_) => tracing::debug!("another process is reading the database and will checkpoint it later"),
        Err(error) => tracing::warn!("closed the database without a checkpoint: {error}"),
    }
}

/// Returns some free pages to the file system. Returns true if more remain.
pub(super) fn free_some_pages(db: &Connection) -> Result<bool, StoreError> {
    let free = |db: &Connection| db.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
    let before = free(db)?;
    let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({FREED_PAGES})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    let after = free(db)?;
    Ok(after > 0 && after < before)
}

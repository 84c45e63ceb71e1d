//! Databases as single files: checkpoints on close, and online copies with integrity checks.

use std::{path::Path, time::Duration};

use gatehouse_core::outcome::Fault;
use rusqlite::{Connection, backup::Backup};

use super::{
    db::{create::private_file, open_reader},
    error::{Result, StoreError},
    lock::DatabaseLock,
    migrations,
    statements::CachedStatements as _,
    tools::TOOLS,
};
use crate::{
    artifacts::{engine::ARTIFACTS, schema},
    audit,
    documents::{engine::CHUNKS, tables},
    engine::PAGES,
    keys,
    knowledge::pages,
    kv, ledger,
    sql::schema::Steps,
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
    Auth,
    Audit,
}

impl DataFile {
    pub const ALL: [Self; 8] = [
        Self::Knowledge,
        Self::Kv,
        Self::Documents,
        Self::Artifacts,
        Self::Tools,
        Self::Ledger,
        Self::Auth,
        Self::Audit,
    ];

    /// Returns the file name, the name for faults, the corpus of its items to embed, and the schema.
    const fn facts(self) -> (&'static str, &'static str, &'static str, Steps) {
        match self {
            Self::Knowledge => ("knowledge.db", "knowledge engine 'sqlite'", PAGES, pages::schema::SCHEMA),
            Self::Kv => ("kv.db", "key-value store of the gates", "", kv::SCHEMA),
            Self::Documents => ("documents.db", "document store 'sqlite'", CHUNKS, tables::schema::SCHEMA),
            Self::Artifacts => ("artifacts.db", "artifact store 'sqlite'", ARTIFACTS, schema::SCHEMA),
            Self::Tools => ("tools.db", "the tool catalog", TOOLS, migrations::TOOLS),
            Self::Ledger => ("ledger.db", "the ledger", "", ledger::schema::SCHEMA),
            Self::Auth => ("auth.db", "the API keys", "", keys::SCHEMA),
            Self::Audit => ("audit.db", "the audit", "", audit::schema::SCHEMA),
        }
    }

    pub const fn file(self) -> &'static str {
        self.facts().0
    }

    pub(super) const fn subject(self) -> &'static str {
        self.facts().1
    }

    pub(super) const fn corpus(self) -> &'static str {
        self.facts().2
    }

    pub(super) const fn steps(self) -> Steps {
        self.facts().3
    }
}

/// Copies the databases of one directory into another, as of one moment, and checks the copies. Hosts may read and
/// write during the copy. Returns the schema versions. Blocks.
///
/// # Errors
/// `unavailable`, naming the file, if it cannot be read or written, is damaged, or is newer than this binary.
pub fn copy(from: &Path, to: &Path) -> Result<Vec<(DataFile, i64)>, Fault> {
    let existing_files = DataFile::ALL.into_iter().filter(|file| from.join(file.file()).exists());
    let mut open = Vec::new();
    for file in existing_files {
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
fn begin(file: DataFile, path: &Path) -> Result<(Connection, DatabaseLock)> {
    let lock = DatabaseLock::try_shared(path)?;
    let source = open_reader(path, file.steps())?;
    source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")?;
    Ok((source, lock))
}

fn copy_one(source: &Connection, to: &Path) -> Result<()> {
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
    let existing_files = DataFile::ALL.into_iter().filter(|file| state.join(file.file()).exists());
    let check_one = |file: DataFile| {
        let path = state.join(file.file());
        let locked = DatabaseLock::lock_shared(file, &path);
        (file, locked.and_then(|_lock| checked(file, &path, "quick_check")))
    };
    existing_files.map(check_one).collect()
}

fn checked(file: DataFile, path: &Path, pragma: &str) -> Result<i64, Fault> {
    let checked = || {
        let db = open_reader(path, file.steps())?;
        check_integrity(&db, pragma)?;
        migrations::version(&db)
    };
    checked().map_err(|error| error.into_fault(file.subject(), path))
}

pub(super) fn check_integrity(db: &Connection, pragma: &str) -> Result<()> {
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
pub(super) fn free_some_pages(db: &Connection) -> Result<bool> {
    let free = || db.value::<i64>("PRAGMA freelist_count", []);
    let before = free()?;
    db.all::<_, Vec<()>>(&format!("PRAGMA incremental_vacuum({FREED_PAGES})"), [], |_| Ok(()))?;
    let after = free()?;
    Ok(after > 0 && after < before)
}

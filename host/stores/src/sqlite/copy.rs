//! A database as one whole file: what its user leaves behind, and copies that are made while hosts use it and are
//! checked before anybody relies on them.

use std::{path::Path, time::Duration};

use gatehouse_core::outcome::Fault;
use rusqlite::{Connection, backup::Backup};

use super::{
    db::{create::private_file, open_reader},
    error::StoreError,
    lock::DatabaseLock,
    migrations::{self, MigrationSteps},
};

/// How long bringing everything into the one file waits for other processes.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(500);

/// Pages that are copied at once.
pub(super) const COPY_PAGES: i32 = 4096;

/// Pages that go back to the disk in one transaction.
const FREED_PAGES: u32 = 2048;

/// The databases of a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFile {
    /// The knowledge graph.
    Knowledge,
    /// What gates keep under keys.
    Kv,
    /// Repositories of documents.
    Documents,
    /// Texts that were too large to show, kept for a while.
    Artifacts,
    /// What is known of the tools of servers.
    Tools,
    /// How calls went.
    Ledger,
}

impl DataFile {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Knowledge, Self::Kv, Self::Documents, Self::Artifacts, Self::Tools, Self::Ledger];

    /// The file's name in a data folder.
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
            Self::Kv => "the store of the gates (kv)",
            Self::Documents => "document store 'sqlite'",
            Self::Artifacts => "artifact store 'sqlite'",
            Self::Tools => "the index of servers' tools",
            Self::Ledger => "the ledger",
        }
    }

    const fn steps(self) -> MigrationSteps {
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

/// Copies databases of one folder into another, each as it was at the same moment, and checks the copies. Hosts
/// may read and write meanwhile. Gives those that there were, with the version of their schema. Blocking.
///
/// # Errors
/// `unavailable`, naming the file: it cannot be read or written, is newer than this binary, or is damaged.
pub fn copy(from: &Path, to: &Path) -> Result<Vec<(DataFile, i64)>, Fault> {
    let there = DataFile::ALL.into_iter().filter(|kept| from.join(kept.file()).exists());
    let mut open = Vec::new();
    for kept in there {
        let path = from.join(kept.file());
        let source = begin(kept, &path).map_err(|error| error.into_fault(kept.subject(), &path))?;
        open.push((kept, source));
    }
    let mut copied = Vec::new();
    for (kept, (source, _lock)) in open {
        let path = to.join(kept.file());
        copy_one(&source, &path).map_err(|error| error.into_fault(kept.subject(), &path))?;
        copied.push((kept, check(kept, &path)?));
    }
    Ok(copied)
}

/// A connection that sees the database as it is now until it is dropped.
fn begin(kept: DataFile, path: &Path) -> Result<(Connection, DatabaseLock), StoreError> {
    let lock = DatabaseLock::try_shared(path)?;
    let source = open_reader(path, kept.steps())?;
    source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")?;
    Ok((source, lock))
}

fn copy_one(source: &Connection, to: &Path) -> Result<(), StoreError> {
    private_file(to).map_err(StoreError::File)?;
    let mut target = Connection::open(to)?;
    Backup::new(source, &mut target)?.run_to_completion(COPY_PAGES, Duration::ZERO, None)?;
    // One file, and nothing beside it.
    let _mode: String = target.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get(0))?;
    target.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// The version of a database's schema, if the file is intact and this binary knows that version. Blocking.
///
/// # Errors
/// `unavailable`, naming the file and what is wrong with it.
pub fn check(kept: DataFile, path: &Path) -> Result<i64, Fault> {
    checked(kept, path, "integrity_check")
}

/// Checks each database of a data folder that exists, as hosts may be using it; faster than [`check`], since indexes
/// are not compared with their tables. Returns the version of each schema. Blocking.
pub fn check_all(state: &Path) -> Vec<(DataFile, Result<i64, Fault>)> {
    let there = DataFile::ALL.into_iter().filter(|kept| state.join(kept.file()).exists());
    let check_one = |kept: DataFile| {
        let path = state.join(kept.file());
        let locked = DatabaseLock::lock_shared(kept, &path);
        (kept, locked.and_then(|_lock| checked(kept, &path, "quick_check")))
    };
    there.map(check_one).collect()
}

fn checked(kept: DataFile, path: &Path, pragma: &str) -> Result<i64, Fault> {
    let checked = || {
        let db = open_reader(path, kept.steps())?;
        let said: String = db.query_row(&format!("PRAGMA {pragma}(1)"), [], |row| row.get(0))?;
        if said != "ok" {
            // The first line names the database, of which there is one.
            let found = said.lines().filter(|line| !line.starts_with("***"));
            return Err(StoreError::NotIntact(found.collect::<Vec<_>>().join("; ")));
        }
        migrations::version(&db)
    };
    checked().map_err(|error| error.into_fault(kept.subject(), path))
}

/// Moves everything from the `-wal` file into the database: people copy the one file and mean all of it.
pub(super) fn leave_one_file(connection: &Connection) {
    let _ = connection.busy_timeout(CHECKPOINT_TIMEOUT);
    let moved = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    match moved {
        Ok(0) => {}
        Ok(_) => tracing::debug!("another process reads the database; it leaves the one file later"),
        Err(error) => tracing::warn!("the database was closed, but not into one file: {error}"),
    }
}

/// Gives some of the place of what was deleted back to the disk; says whether there is more.
pub(super) fn shrink(db: &Connection) -> Result<bool, StoreError> {
    let free = |db: &Connection| db.query_row("PRAGMA freelist_count", [], |row| row.get::<_, i64>(0));
    let before = free(db)?;
    let mut statement = db.prepare(&format!("PRAGMA incremental_vacuum({FREED_PAGES})"))?;
    let mut rows = statement.query([])?;
    // Each page that goes is a row.
    while rows.next()?.is_some() {}
    let after = free(db)?;
    Ok(after > 0 && after < before)
}

//! Checkpoints on close, online copies, integrity checks, and free space.

use std::{path::Path, time::Duration};

use rusqlite::{Connection, backup::Backup};

use super::{
    db::{create::private_file, open_reader},
    error::{Result, StoreError},
    lock::DatabaseLock,
    migrations,
    statements::CachedStatements as _,
};
use crate::sql::schema::Steps;

/// Maximum time that the checkpoint waits for other processes.
const CHECKPOINT_TIMEOUT: Duration = Duration::from_millis(500);

pub(crate) const COPY_PAGES: i32 = 4096;

const FREED_PAGES: u32 = 2048;

/// Opens a connection whose snapshot is the current state of the database.
pub(crate) fn begin_copy(path: &Path, steps: Steps) -> Result<(Connection, DatabaseLock)> {
    let lock = DatabaseLock::try_shared(path)?;
    let source = open_reader(path, steps)?;
    source.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;")?;
    Ok((source, lock))
}

pub(crate) fn copy_one(source: &Connection, to: &Path) -> Result<()> {
    private_file(to).map_err(StoreError::File)?;
    let mut target = Connection::open(to)?;
    Backup::new(source, &mut target)?.run_to_completion(COPY_PAGES, Duration::ZERO, None)?;
    // Leave a single file without a write-ahead log.
    let _mode: String = target.pragma_update_and_check(None, "journal_mode", "delete", |row| row.get(0))?;
    target.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Returns the schema version of an intact file.
pub(crate) fn checked_version(path: &Path, steps: Steps, pragma: &str) -> Result<i64> {
    let db = open_reader(path, steps)?;
    check_integrity(&db, pragma)?;
    migrations::version(&db)
}

pub(crate) fn check_integrity(db: &Connection, pragma: &str) -> Result<()> {
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

//! Handling of an unusable catalog file: reads it into memory, or sets it aside and creates it again.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::backup::Backup;

use super::{catalog::Catalog, schema::SCHEMA, tables};
use crate::sql::{
    Result, Session, StoreError, complete,
    sqlite::{
        DatabaseLock, DatabaseProfile, SqliteSession,
        db::{create, open_read_only, open_writer},
        maintenance::{COPY_PAGES, check_integrity},
        migrations,
    },
};

const PROFILE: DatabaseProfile = DatabaseProfile::BusyTimeout(Duration::from_secs(1));

/// Reads the file into a database in memory, which must not be used on failure. Blocks.
pub(super) fn read_into(memory: &SqliteSession, path: &Path) -> Result<()> {
    let source = open_read_only(path, SCHEMA)?;
    {
        let mut memory = memory.connection();
        Backup::new(&source, &mut memory)?.run_to_completion(COPY_PAGES, Duration::ZERO, None)?;
        migrations::migrate(&mut memory, SCHEMA)?;
    }
    check(memory)
}

/// Creates the file again without its content, and keeps the old one next to it. `None` if the file is usable. Blocks.
///
/// The file exists at every moment, so after a crash the next process does not conclude that nothing was ever reviewed.
pub(super) fn set_aside(path: &Path) -> Result<Option<PathBuf>> {
    let _alone = DatabaseLock::try_exclusive(path)?;
    let open = |path: &Path| open_writer(path, SCHEMA, PROFILE).map(SqliteSession::new);
    let is_whole = create::not_empty(path).and_then(|()| open(path)).and_then(|db| check(&db));
    if is_whole.is_ok() {
        return Ok(None);
    }
    let (new, aside) = (sibling_path(path, ".new"), sibling_path(path, ".set-aside"));
    for old in [&new, &aside] {
        for ending in ["", "-wal", "-shm"] {
            remove(&sibling_path(old, ending)).map_err(StoreError::SetAside)?;
        }
    }
    create::private_file(&new).map_err(StoreError::SetAside)?;
    complete(tables::set_lost(Session::Sqlite(&open(&new)?)))?;
    let replace = || {
        fs::hard_link(path, &aside).or_else(|_| fs::copy(path, &aside).map(drop))?;
        let wal = sibling_path(path, "-wal");
        if wal.exists() {
            fs::rename(wal, sibling_path(&aside, "-wal"))?;
        }
        remove(&sibling_path(path, "-shm"))?;
        fs::rename(&new, path)
    };
    replace().map_err(StoreError::SetAside)?;
    Ok(Some(aside))
}

fn check(db: &SqliteSession) -> Result<()> {
    check_integrity(&db.connection(), "quick_check")?;
    let db = Session::Sqlite(db);
    complete(tables::pending_changes(db))?;
    complete(tables::catalog(db, &Catalog::default(), |generation| generation)).map(drop)
}

fn sibling_path(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(ending);
    path.with_file_name(name)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

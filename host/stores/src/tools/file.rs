//! Handling of an unusable catalog file: reads it into memory, or sets it aside and creates it again.

use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, OpenFlags, backup::Backup};

use super::{read, review, schema::SCHEMA};
use crate::sql::{
    Result, StoreError,
    sqlite::{
        DatabaseLock, DatabaseProfile,
        db::{create, open_reader, open_writer},
        maintenance::{COPY_PAGES, check_integrity},
        migrations,
    },
};

const PROFILE: DatabaseProfile = DatabaseProfile::BusyTimeout(Duration::from_secs(1));

/// Reads the file into a database in memory, which must not be used on failure. Blocks.
pub(super) fn read_into(memory: &mut Connection, path: &Path) -> Result<()> {
    create::not_empty(path)?;
    let source = match open_reader(path, SCHEMA) {
        Ok(source) if source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(())).is_ok() => {
            source
        }
        _ => open_immutable(path)?,
    };
    Backup::new(&source, memory)?.run_to_completion(COPY_PAGES, Duration::ZERO, None)?;
    migrations::migrate(memory, SCHEMA)?;
    check(memory)
}

/// Opens a file in a directory that SQLite cannot write to. SQLite can do this only if no `-wal` file is left.
fn open_immutable(path: &Path) -> Result<Connection> {
    let is_whole = |wal: PathBuf| fs::metadata(wal).map_or(true, |file| file.len() == 0);
    let text = path.to_str().filter(|text| !text.contains(['?', '#', '%']));
    let (Some(text), true) = (text, is_whole(sibling_path(path, "-wal"))) else {
        return Err(StoreError::Closed);
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let source = Connection::open_with_flags(format!("file:{text}?immutable=1"), flags)?;
    migrations::check(&source, SCHEMA)?;
    Ok(source)
}

/// Creates the file again without its content, and keeps the old one next to it. `None` if the file is usable. Blocks.
///
/// The file exists at every moment, so after a crash the next process does not conclude that nothing was ever reviewed.
pub(super) fn set_aside(path: &Path) -> Result<Option<PathBuf>> {
    let _alone = DatabaseLock::try_exclusive(path)?;
    let is_whole =
        create::not_empty(path).and_then(|()| open_writer(path, SCHEMA, PROFILE)).and_then(|db| check(&db));
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
    review::set_lost(&open_writer(&new, SCHEMA, PROFILE)?)?;
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

fn check(db: &Connection) -> Result<()> {
    check_integrity(db, "quick_check")?;
    read::pending_changes(db)?;
    for server in read::all(db)? {
        read::known_listing(db, server.server.name())?;
    }
    Ok(())
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

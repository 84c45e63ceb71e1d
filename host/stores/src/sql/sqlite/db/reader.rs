//! Connections that cannot write.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{create, writer::BUSY_TIMEOUT};
use crate::{
    sql::sqlite::migrations,
    sql::{Result, schema::Steps},
};

const MAX_CACHE_BYTES: i64 = 8 * 1024 * 1024;

/// Opens a connection that cannot write. The file must exist.
pub(crate) fn open_reader(path: &Path, steps: Steps) -> Result<Connection> {
    create::not_empty(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    migrations::check(&connection, steps)?;
    // A negative size is in KiB, a positive one in pages.
    connection.pragma_update(None, "cache_size", -MAX_CACHE_BYTES / 1024)?;
    Ok(connection)
}

/// Opens a connection that makes no file next to the database. Only if the `-wal` file has nothing new may SQLite ignore
/// it: a revoked key would be valid again.
pub(crate) fn open_read_only(path: &Path, steps: Steps) -> Result<Connection> {
    let opened = open_reader(path, steps);
    // SQLite follows links, too.
    let Ok(real) = path.canonicalize() else { return opened };
    let Some(name) = real.to_str().filter(|_| opened.is_err()) else { return opened };
    let has_no_news = match std::fs::metadata(format!("{name}-wal")) {
        Ok(about) => about.len() == 0,
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    };
    if !has_no_news {
        return opened;
    }
    create::not_empty(&real)?;
    let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let uri = format!("file:{name}?immutable=1");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri, flags)?;
    migrations::check(&connection, steps)?;
    Ok(connection)
}

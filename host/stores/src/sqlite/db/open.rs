//! Reader connections.

use std::path::Path;

use gatehouse_core::lock;
use rusqlite::{Connection, OpenFlags};

use super::{BUSY_TIMEOUT, MAX_CACHE_BYTES, OpenDatabase, SharedDatabase, create};
use crate::sqlite::{
    error::StoreError,
    migrations::{self, MigrationSteps},
};

impl OpenDatabase {
    pub(super) fn read<T>(
        &self,
        shared: &SharedDatabase,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let idle = lock(&self.idle).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => open_reader(&shared.path, shared.steps)?,
        };
        let snapshot = connection.unchecked_transaction()?;
        let result = work(&snapshot);
        drop(snapshot);
        if result.is_ok() {
            lock(&self.idle).push(connection);
        }
        result
    }
}

/// Opens a connection that cannot write. The file must exist.
pub(in crate::sqlite) fn open_reader(path: &Path, steps: MigrationSteps) -> Result<Connection, StoreError> {
    create::not_empty(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    migrations::check(&connection, steps)?;
    // A negative size is in KiB, a positive one in pages.
    connection.pragma_update(None, "cache_size", -MAX_CACHE_BYTES / 1024)?;
    Ok(connection)
}

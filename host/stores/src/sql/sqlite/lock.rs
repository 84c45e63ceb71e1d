//! Locks that decide which processes may use or replace a database file. The operating system releases them when the
//! process ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

use super::error::{Result, StoreError};

/// Right to use or replace a database file, held until dropped.
#[derive(Debug)]
pub struct DatabaseLock {
    _lock: File,
}

impl DatabaseLock {
    pub(crate) fn try_shared(database: &Path) -> Result<Self> {
        Self::acquire(database, File::try_lock_shared, StoreError::Restoring)
    }

    pub(crate) fn try_exclusive(database: &Path) -> Result<Self> {
        Self::acquire(database, File::try_lock, StoreError::InUse)
    }

    fn acquire(
        database: &Path,
        lock: fn(&File) -> Result<(), TryLockError>,
        blocked: StoreError,
    ) -> Result<Self> {
        let file = lock_file(database)?;
        match lock(&file) {
            Ok(()) => Ok(Self { _lock: file }),
            Err(TryLockError::WouldBlock) => Err(blocked),
            Err(TryLockError::Error(error)) => Err(StoreError::Lock(error)),
        }
    }
}

/// Opens a separate lock file, because opening and closing the database itself would drop SQLite's own locks.
fn lock_file(database: &Path) -> Result<File> {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-lock");
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(database.with_file_name(name)).map_err(StoreError::Lock)
}

//! Who may use a database file: everybody who opens it, or one alone who replaces it. A lock on a file of its own
//! beside the database; the system takes it back when the process ends, however it ends.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

use gatehouse_core::outcome::Fault;

use super::{copy::DataFile, error::StoreError};

/// The right to use a database file, or to replace it. Held as long as this lives.
#[derive(Debug)]
pub struct DatabaseLock {
    _lock: File,
}

impl DatabaseLock {
    /// With all others who use it.
    pub(super) fn try_shared(database: &Path) -> Result<Self, StoreError> {
        let file = lock_file(database)?;
        match file.try_lock_shared() {
            Ok(()) => Ok(Self { _lock: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::Restoring),
            Err(TryLockError::Error(error)) => Err(StoreError::Lock(error)),
        }
    }

    /// With all others, for work on the whole data folder.
    ///
    /// # Errors
    /// `unavailable`, where somebody replaces the file.
    pub fn lock_shared(kept: DataFile, database: &Path) -> Result<Self, Fault> {
        Self::try_shared(database).map_err(|error| error.into_fault(kept.subject(), database))
    }

    /// Alone: nobody has the database open, and nobody can open it meanwhile. Its folder must be there.
    ///
    /// # Errors
    /// `unavailable`, where somebody uses it.
    pub fn lock_exclusive(kept: DataFile, database: &Path) -> Result<Self, Fault> {
        Self::try_exclusive(database).map_err(|error| error.into_fault(kept.subject(), database))
    }

    /// The same with the failure as it is.
    pub(super) fn try_exclusive(database: &Path) -> Result<Self, StoreError> {
        let file = lock_file(database)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _lock: file }),
            Err(TryLockError::WouldBlock) => Err(StoreError::InUse),
            Err(TryLockError::Error(error)) => Err(StoreError::Lock(error)),
        }
    }
}

/// SQLite's own locks on the database would be lost if we opened that file ourselves.
fn lock_file(database: &Path) -> Result<File, StoreError> {
    let mut name = database.file_name().unwrap_or_default().to_owned();
    name.push("-lock");
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(database.with_file_name(name)).map_err(StoreError::Lock)
}

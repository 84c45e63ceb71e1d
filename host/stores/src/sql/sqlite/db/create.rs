//! Creates database files. A file gets its name only once it is complete, so an empty file with that name is damaged.

use std::{
    fs::{self, OpenOptions},
    io,
    path::Path,
};

use gatehouse_files::{ScratchFolder, make_private};

use super::writer::{DatabaseProfile, open_writer};
use crate::sql::{Result, StoreError, schema::Steps};

/// Creates the database and its directory if missing, for this user only. SQLite gives the files next to the database
/// the same mode.
pub(super) fn ensure(path: &Path, steps: Steps, profile: DatabaseProfile) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_private(folder).map_err(StoreError::Directory)?;
    match fs::metadata(path) {
        Ok(_) => return not_empty(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        // Opening the file will return SQLite's own error.
        Err(_) => return Ok(()),
    }
    let scratch = ScratchFolder::new_in(folder).map_err(StoreError::File)?;
    let new = scratch.path().join(path.file_name().unwrap_or_default());
    private_file(&new).map_err(StoreError::File)?;
    open_writer(&new, steps, profile)?.close().map_err(|(_, error)| error)?;
    // If another process created the file first, that file wins.
    scratch.place(&new, path).map(drop).map_err(StoreError::File)
}

/// Refuses an empty file. It was truncated, and a new database would hide the loss.
pub(crate) fn not_empty(path: &Path) -> Result<()> {
    let is_empty = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() == 0);
    if is_empty { Err(StoreError::Empty) } else { Ok(()) }
}

/// Creates a file that only this user can read.
pub(crate) fn private_file(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

//! Small files that several commands and hosts edit, each under its lock.

use std::{
    fs::{File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use gatehouse_files::{Durability, make_private, write_private};
use serde::{Serialize, de::DeserializeOwned};

use super::{PlainError, locate::read_bounded};

/// Reads a JSON file of at most 4 MiB. A file that does not exist has the default. Errors do not name the file. Blocking.
pub(crate) fn read_json<T: Default + DeserializeOwned>(file: &Path) -> Result<T, PlainError> {
    let bytes = match read_bounded(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(T::default()),
        bytes => bytes.map_err(|error| format!("cannot be read: {error}; fix or delete it"))?,
    };
    serde_json::from_slice(&bytes).map_err(|error| format!("is damaged: {error}; fix or delete it").into())
}

/// Edits a JSON file under its lock, so that no change of another program is lost, and writes it if `edit` returns true.
/// Returns whether it did. Blocking.
pub(crate) fn edit_json<T: Serialize, E>(
    file: &Path,
    failed: impl Fn(io::Error) -> E,
    read: impl FnOnce(&Path) -> Result<T, E>,
    edit: impl FnOnce(&mut T) -> Result<bool, E>,
) -> Result<bool, E> {
    let _lock = lock(file).map_err(&failed)?;
    let mut content = read(file)?;
    let is_changed = edit(&mut content)?;
    if is_changed {
        let text = serde_json::to_vec_pretty(&content).map_err(|error| failed(error.into()))?;
        write_private(file, &text, Durability::Synced).map_err(failed)?;
    }
    Ok(is_changed)
}

/// Waits for the lock of `file`, which is a file beside it. Creates the directory with access for this user only.
pub(super) fn lock(file: &Path) -> io::Result<File> {
    make_private(file.parent().unwrap_or(Path::new("/")))?;
    let mut options = OpenOptions::new();
    let lock = options.append(true).create(true).mode(0o600).open(file.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

//! Two commands or hosts that change one file at once both have their way: each waits for the lock beside it.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use gatehouse_files::make_private;

/// Waits for the lock of a file, which is held until what comes back is dropped. Makes its folder, for this user alone.
pub(super) fn locked(file: &Path) -> io::Result<File> {
    make_private(file.parent().unwrap_or(Path::new("/")))?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let lock = options.open(file.with_extension("lock"))?;
    lock.lock()?;
    Ok(lock)
}

//! Lock files that serialize changes to the same file by several commands or hosts.

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
};

use gatehouse_files::make_private;

/// Waits for the lock of `file`, which is held until the returned file is dropped.
///
/// Creates the parent directory with access for this user only.
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

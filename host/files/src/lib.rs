//! Atomic file replacement, and private directories.
//!
//! A file is written next to its target and renamed. Readers see the old or the new file, never a part. A crash leaves
//! one of the two, and possibly a temporary file that [`sweep`] removes.

mod temporary;

use std::{
    fs::{self, Permissions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

pub use temporary::{ScratchFolder, sweep};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    Synced,
    /// May be old or empty after a power failure. For data that can be recreated and is checked when read. Takes
    /// microseconds; syncing takes milliseconds.
    Unsynced,
}

/// Creates or replaces a file and syncs it. An existing file keeps its permissions; a new one is readable by all.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, directory) = write_temporary(path, bytes)?;
    match fs::metadata(path) {
        Ok(metadata) => file.as_file().set_permissions(metadata.permissions())?,
        Err(_) => set_public_mode(&file)?,
    }
    finish(file, path, &directory, Durability::Synced)
}

/// Creates a file that is readable by all, and syncs it. Fails if the file exists.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, _) = write_temporary(path, bytes)?;
    set_public_mode(&file)?;
    finish_new(file, path)
}

/// Creates a file that only this user can read, and syncs it. Fails if the file exists.
pub fn write_new_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Temporary files have mode 0600.
    let (file, _) = write_temporary(path, bytes)?;
    finish_new(file, path)
}

/// Creates or replaces a file that only this user can read. Also sweeps the directory, since temporary files of killed
/// processes may contain secrets.
pub fn write_private(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    // Temporary files have mode 0600.
    let (file, directory) = write_temporary(path, bytes)?;
    sweep(&directory);
    finish(file, path, &directory, durability)
}

/// Creates a directory and its missing parents with mode 0700. Existing ones keep their mode.
pub fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

fn write_temporary(path: &Path, bytes: &[u8]) -> io::Result<(NamedTempFile, PathBuf)> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary::new_file(directory)?;
    file.write_all(bytes)?;
    Ok((file, directory.to_owned()))
}

fn set_public_mode(file: &NamedTempFile) -> io::Result<()> {
    file.as_file().set_permissions(Permissions::from_mode(0o644))
}

fn finish_new(file: NamedTempFile, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map(drop).map_err(io::Error::from)
}

fn finish(file: NamedTempFile, path: &Path, directory: &Path, durability: Durability) -> io::Result<()> {
    if durability == Durability::Synced {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    // The rename is durable only after the directory is synced.
    if durability == Durability::Synced {
        fs::File::open(directory)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn files_are_replaced_atomically() {
        let directory = tempfile::tempdir().expect("a folder");
        let (public, private) = (directory.path().join("public"), directory.path().join("private"));
        for bytes in [b"old", b"new"] {
            write_atomic(&public, bytes).expect("written");
            write_private(&private, bytes, Durability::Unsynced).expect("written");
            assert_eq!((&fs::read(&public).expect("read")[..], mode(&public)), (&bytes[..], 0o644));
            assert_eq!((&fs::read(&private).expect("read")[..], mode(&private)), (&bytes[..], 0o600));
        }
        assert_eq!(fs::read_dir(directory.path()).expect("read").count(), 2);
        fs::set_permissions(&public, Permissions::from_mode(0o640)).expect("set");
        write_atomic(&public, b"newer").expect("written");
        assert_eq!(mode(&public), 0o640);
        let exists = write_new(&public, b"newest").map_err(|error| error.kind());
        assert_eq!(exists, Err(io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&public).expect("read"), b"newer");
        fs::write(directory.path().join(".tmp-gatehouse-killed"), "a secret").expect("written");
        write_private(&private, b"newest", Durability::Synced).expect("written");
        assert_eq!(fs::read_dir(directory.path()).expect("read").count(), 2);
    }

    #[test]
    fn private_directories_have_mode_0700() {
        let directory = tempfile::tempdir().expect("a folder");
        let inner = directory.path().join("a/b");
        make_private(&inner).expect("made");
        assert_eq!([mode(&inner), mode(&directory.path().join("a"))], [0o700, 0o700]);
    }
}

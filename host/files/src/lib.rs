//! Atomic file replacement, and private directories.
//!
//! A file is written next to its target and renamed. Readers see the old or the new file, never a part. A crash leaves
//! one of the two, and possibly a temporary file that [`sweep`] removes.

mod temporary;

use std::{
    fs, io,
    io::Write as _,
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
    let (file, folder) = write_temporary(path, bytes)?;
    match fs::metadata(path) {
        Ok(about) => file.as_file().set_permissions(about.permissions())?,
        Err(_) => make_public(&file)?,
    }
    finish(file, path, &folder, Durability::Synced)
}

/// Creates a file that is readable by all, and syncs it. Fails if the file exists.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, _) = write_temporary(path, bytes)?;
    make_public(&file)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(())
}

/// Creates or replaces a file that only this user can read. Also sweeps the directory, since temporary files of killed
/// processes may contain secrets.
pub fn write_private(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    // Temporary files have mode 0600.
    let (file, folder) = write_temporary(path, bytes)?;
    sweep(&folder);
    finish(file, path, &folder, durability)
}

/// Creates a directory and its missing parents with mode 0700. Existing ones keep their mode.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write_temporary(path: &Path, bytes: &[u8]) -> io::Result<(NamedTempFile, PathBuf)> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary::new_file(folder)?;
    file.write_all(bytes)?;
    Ok((file, folder.to_owned()))
}

fn make_public(file: &NamedTempFile) -> io::Result<()> {
    #[cfg(unix)]
    file.as_file().set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))?;
    Ok(())
}

fn finish(file: NamedTempFile, path: &Path, folder: &Path, durability: Durability) -> io::Result<()> {
    if durability == Durability::Synced {
        file.as_file().sync_all()?;
    }
    file.persist(path)?;
    // The rename is durable only after the directory is synced.
    #[cfg(unix)]
    if durability == Durability::Synced {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").permissions().mode() & 0o777
    }

    #[test]
    fn files_are_replaced_whole_and_leave_nothing_beside_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let (public, private) = (folder.path().join("public"), folder.path().join("private"));
        for bytes in [b"old", b"new"] {
            write_atomic(&public, bytes).expect("written");
            write_private(&private, bytes, Durability::Unsynced).expect("written");
            assert_eq!((&fs::read(&public).expect("read")[..], mode(&public)), (&bytes[..], 0o644));
            assert_eq!((&fs::read(&private).expect("read")[..], mode(&private)), (&bytes[..], 0o600));
        }
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 2);
        fs::set_permissions(&public, fs::Permissions::from_mode(0o640)).expect("set");
        write_atomic(&public, b"newer").expect("written");
        assert_eq!(mode(&public), 0o640);
        let exists = write_new(&public, b"newest").map_err(|error| error.kind());
        assert_eq!(exists, Err(io::ErrorKind::AlreadyExists));
        assert_eq!(fs::read(&public).expect("read"), b"newer");
        fs::write(folder.path().join(".tmp-gatehouse-killed"), "a secret").expect("written");
        write_private(&private, b"newest", Durability::Synced).expect("written");
        assert_eq!(fs::read_dir(folder.path()).expect("read").count(), 2);
    }

    #[test]
    fn private_folders_are_for_one_user() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        make_private(&inner).expect("made");
        assert_eq!([mode(&inner), mode(&folder.path().join("a"))], [0o700, 0o700]);
    }
}

//! Files that are replaced whole, and folders that belong to one user alone.
//!
//! A file is written beside the one it replaces, and renamed. Readers see the old or the new file, never a part; a
//! crash leaves one of the two, and a temporary file that [`sweep`] removes. It knows nothing of what the files hold.

mod temporary;

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

pub use temporary::{ScratchFolder, sweep};

/// How sure it is that a file is still there after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It is there when the function returns.
    Synced,
    /// The old one may be back, or an empty one: for what can be made again and is checked when it is read. Costs
    /// microseconds where syncing costs milliseconds.
    Unsynced,
}

/// Replaces a file that people look at, or makes it, for good. One that is there keeps its permissions; a new one can
/// be read by everybody.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, folder) = write_temporary(path, bytes)?;
    match fs::metadata(path) {
        Ok(about) => file.as_file().set_permissions(about.permissions())?,
        Err(_) => make_public(&file)?,
    }
    finish(file, path, &folder, Durability::Synced)
}

/// Makes a file that everybody can read, for good; one that is there already is an error, and stays as it is.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (file, _) = write_temporary(path, bytes)?;
    make_public(&file)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path)?;
    Ok(())
}

/// Replaces a file that is nobody else's business, or makes it; only this user can read it. Removes what killed
/// processes left next to it: it may hold a secret too.
pub fn write_private(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    // Temporary files have the mode 0600.
    let (file, folder) = write_temporary(path, bytes)?;
    sweep(&folder);
    finish(file, path, &folder, durability)
}

/// Makes a folder, and what is missing on the way to it, that nobody else can enter. One that is there keeps its mode.
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
    // The rename itself is on disk only when its folder is.
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

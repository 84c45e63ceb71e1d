//! Replaces a file as a whole: a temporary file beside it, then a rename. Readers see the old or the new
//! file, never a part; a crash leaves one of the two.

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use gatehouse_core::outcome::Fault;

use super::roots::WikiRoots;

/// Writes a file atomically. An existing file keeps its permissions.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".gatehouse-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    match fs::metadata(path) {
        Ok(about) => temporary.as_file().set_permissions(about.permissions())?,
        #[cfg(unix)]
        Err(_) => {
            use std::os::unix::fs::PermissionsExt as _;
            temporary.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        }
        #[cfg(not(unix))]
        Err(_) => {}
    }
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    // The rename itself is on disk only when its folder is.
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    Ok(())
}

/// Makes a file that is not there yet, and its folder where that is missing.
///
/// # Errors
/// `denied` where its folder leads out of what may be touched; `invalid-arguments` where a file is there already;
/// `unavailable` where it cannot be made.
pub(crate) fn create(roots: &WikiRoots, path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let cannot = |error: io::Error| {
        Fault::unavailable(format!("wiki file '{}' cannot be made: {error}", path.display()))
            .hint("Check the folder's permissions and the free space; nothing was changed.")
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(cannot)?;
    // The folder may be a link.
    roots.resolve(folder)?;
    let mut temporary = tempfile::Builder::new().prefix(".gatehouse-").tempfile_in(folder).map_err(cannot)?;
    temporary.write_all(bytes).map_err(cannot)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        temporary.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(cannot)?;
    }
    temporary.as_file().sync_all().map_err(cannot)?;
    match temporary.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Fault::invalid(format!("wiki file '{}' is there already and is not indexed", path.display()))
                .hint(
                    "Index its folder with kg_index, then change the page with kg_edit; nothing was changed.",
                ))
        }
        Err(error) => Err(cannot(error.error)),
    }
}

/// A change of one file that can be taken back.
#[derive(Debug, Default)]
pub(crate) struct FileEdit {
    /// The file, canonical.
    pub(crate) path: PathBuf,
    /// What it must hold for the change to be made.
    pub(crate) before: Vec<u8>,
    /// What it holds afterwards.
    pub(crate) after: Vec<u8>,
    /// Whether the change is made.
    pub(crate) applied: AtomicBool,
}

impl FileEdit {
    /// Makes the change; a file that is not as expected stays as it is.
    pub(crate) fn apply(&self) -> Result<(), Fault> {
        let cannot = |error: io::Error| {
            Fault::unavailable(format!("wiki file '{}' cannot be written: {error}", self.path.display()))
                .hint("Check the file's permissions and the free space; nothing was changed.")
        };
        if fs::read(&self.path).map_err(cannot)? != self.before {
            return Err(changed_meanwhile(&self.path));
        }
        let written = write_atomic(&self.path, &self.after);
        // The rename may have succeeded and only what follows it failed.
        let made = written.is_ok() || fs::read(&self.path).is_ok_and(|now| now == self.after);
        self.applied.store(made, Ordering::SeqCst);
        written.map_err(|error| {
            self.revert();
            cannot(error)
        })
    }

    /// Puts back what was there, where the change was made; called where the store could not follow.
    pub(crate) fn revert(&self) {
        if self.applied.swap(false, Ordering::SeqCst)
            && let Err(error) = write_atomic(&self.path, &self.before)
        {
            tracing::error!(file = %self.path.display(), %error, "a wiki file keeps an edit that was not stored");
        }
    }
}

/// The fault for a file that is not what was indexed.
pub(crate) fn changed_meanwhile(path: &Path) -> Fault {
    Fault::invalid(format!("wiki file '{}' has changed since it was indexed", path.display()))
        .hint("Index its folder again with kg_index, then repeat the edit; nothing was changed.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_rewritten_file_keeps_its_permissions_and_leaves_nothing_behind() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        fs::write(&path, "other").unwrap();
        let (before, after) = (b"old".to_vec(), b"new".to_vec());
        let edit = FileEdit { path: path.clone(), before, after, ..FileEdit::default() };
        assert!(edit.apply().is_err());
        edit.revert();
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    }
}

//! Creates wiki files and makes reversible edits to them.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use gatehouse_core::outcome::Fault;
use gatehouse_files::{write_atomic, write_new};

use super::{edit_marker::EditMarker, record::file_hash, roots::WikiRoots};

/// Creates a file and its directory.
///
/// # Errors
///
/// Returns `denied` if the directory is outside the allowed roots, `invalid-arguments` if the file exists, and
/// `unavailable` if it cannot be created.
pub(crate) fn create(roots: &WikiRoots, path: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let cannot = |error: io::Error| {
        Fault::unavailable(format!("cannot create wiki file '{}': {error}", path.display()))
            .hint("Check the folder's permissions and the free space; nothing was changed.")
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(cannot)?;
    // The directory can be a symbolic link.
    roots.resolve(folder)?;
    write_new(path, bytes).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => file_exists(path),
        _ => cannot(error),
    })
}

/// Checks whether [`create`] can succeed without creating anything.
///
/// # Errors
///
/// Same as [`create`], except for errors that only writing can reveal.
pub(crate) fn check_new(roots: &WikiRoots, path: &Path) -> Result<(), Fault> {
    let existing = path.ancestors().skip(1).find(|folder| folder.is_dir());
    roots.resolve(existing.unwrap_or(Path::new(".")))?;
    if path.symlink_metadata().is_ok() { Err(file_exists(path)) } else { Ok(()) }
}

pub(crate) fn file_exists(path: &Path) -> Fault {
    Fault::invalid(format!("wiki file '{}' already exists, but is not indexed", path.display()))
        .hint("Index its folder with kg_index, then change the page with kg_edit; nothing was changed.")
}

/// A reversible edit of one file.
#[derive(Debug, Default)]
pub(crate) struct FileEdit {
    pub(crate) path: PathBuf,
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
    /// True while the edit is in the file.
    pub(crate) applied: AtomicBool,
    /// Exists from before the file changes until the page is stored.
    note: EditMarker,
}

impl FileEdit {
    pub(crate) fn new(path: PathBuf, before: Vec<u8>, after: Vec<u8>) -> Self {
        let note = EditMarker::new(&path, &file_hash(&before), &file_hash(&after));
        Self { path, before, after, applied: AtomicBool::new(false), note }
    }

    /// Reconstructs an interrupted edit: the file already contains it, but the stored page still has the hash `stored`.
    /// `None` if the file's content is not our edit.
    pub(crate) fn unfinished(path: PathBuf, stored: &str, now: Vec<u8>) -> Option<Self> {
        let note = EditMarker::new(&path, stored, &file_hash(&now));
        let edit = Self { path, before: now.clone(), after: now, applied: AtomicBool::new(false), note };
        edit.note.exists().then_some(edit)
    }

    /// Applies the edit. Fails if the file does not have the expected content.
    pub(crate) fn apply(&self) -> Result<(), Fault> {
        let cannot = |error: io::Error| {
            Fault::unavailable(format!("cannot write wiki file '{}': {error}", self.path.display()))
                .hint("Check the file's permissions and the free space; nothing was changed.")
        };
        if fs::read(&self.path).map_err(cannot)? != self.before {
            return Err(changed_meanwhile(&self.path));
        }
        if self.before == self.after {
            return Ok(());
        }
        self.note.write().map_err(cannot)?;
        let written = write_atomic(&self.path, &self.after);
        // The rename can succeed even if a later step fails.
        let made = written.is_ok() || fs::read(&self.path).is_ok_and(|now| now == self.after);
        self.applied.store(made, Ordering::SeqCst);
        written.map_err(|error| {
            self.revert();
            cannot(error)
        })
    }

    /// Restores the previous content if the edit was applied. Called if the store rejects the page.
    pub(crate) fn revert(&self) {
        if self.before == self.after {
            return;
        }
        if self.applied.swap(false, Ordering::SeqCst)
            && let Err(error) = write_atomic(&self.path, &self.before)
        {
            tracing::error!(file = %self.path.display(), %error, "cannot revert an edit that was not stored");
            return;
        }
        self.note.remove();
    }

    /// Records that the page is stored.
    pub(crate) fn mark_stored(&self) {
        self.note.remove();
    }
}

pub(crate) fn changed_meanwhile(path: &Path) -> Fault {
    Fault::invalid(format!("wiki file '{}' has changed since it was indexed", path.display()))
        .hint("Index its folder again with kg_index, then repeat the edit; nothing was changed.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_changed_meanwhile_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        fs::write(&path, "other").unwrap();
        let (before, after) = (b"old".to_vec(), b"new".to_vec());
        let edit = FileEdit::new(path.clone(), before, after);
        assert!(edit.apply().is_err());
        edit.revert();
        assert_eq!(fs::read_to_string(&path).unwrap(), "other");
    }

    #[test]
    fn an_edit_is_known_as_unfinished_until_it_is_settled_or_reverted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        let stored = file_hash(b"old");
        let unfinished = || FileEdit::unfinished(path.clone(), &stored, fs::read(&path).unwrap());
        for ends in [FileEdit::mark_stored, FileEdit::revert] {
            fs::write(&path, "old").unwrap();
            let edit = FileEdit::new(path.clone(), b"old".to_vec(), b"new".to_vec());
            assert!(unfinished().is_none());
            edit.apply().unwrap();
            let found = unfinished().unwrap();
            // Applying it changes nothing, and reverting it leaves the marker.
            found.apply().unwrap();
            found.revert();
            assert!(unfinished().is_some());
            fs::write(&path, "by hand").unwrap();
            assert!(unfinished().is_none() && found.apply().is_err());
            fs::write(&path, "new").unwrap();
            ends(&edit);
            assert!(unfinished().is_none());
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }
}

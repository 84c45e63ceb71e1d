//! Changes files of a wiki: a new one, or an edit that can be taken back.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use gatehouse_core::outcome::Fault;
use gatehouse_files::{write_atomic, write_new};

use super::{edit_note::EditNote, record::file_hash, roots::WikiRoots};

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
    write_new(path, bytes).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => file_exists(path),
        _ => cannot(error),
    })
}

/// Checks what [`create`] would refuse, and creates nothing.
///
/// # Errors
/// As [`create`], but for what only writing shows.
pub(crate) fn check_new(roots: &WikiRoots, path: &Path) -> Result<(), Fault> {
    let existing = path.ancestors().skip(1).find(|folder| folder.is_dir());
    roots.resolve(existing.unwrap_or(Path::new(".")))?;
    if path.symlink_metadata().is_ok() { Err(file_exists(path)) } else { Ok(()) }
}

/// The fault for a new page whose file exists.
pub(crate) fn file_exists(path: &Path) -> Fault {
    Fault::invalid(format!("wiki file '{}' is there already and is not indexed", path.display()))
        .hint("Index its folder with kg_index, then change the page with kg_edit; nothing was changed.")
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
    /// Exists from before the file changes until the page is stored.
    note: EditNote,
}

impl FileEdit {
    /// An edit that is not made yet.
    pub(crate) fn new(path: PathBuf, before: Vec<u8>, after: Vec<u8>) -> Self {
        let note = EditNote::new(&path, &file_hash(&before), &file_hash(&after));
        Self { path, before, after, applied: AtomicBool::new(false), note }
    }

    /// An edit of a file that holds it already, while the stored page has still this hash. `None` if the content of the
    /// file is not an edit of ours.
    pub(crate) fn unfinished(path: PathBuf, stored: &str, now: Vec<u8>) -> Option<Self> {
        let note = EditNote::new(&path, stored, &file_hash(&now));
        let edit = Self { path, before: now.clone(), after: now, applied: AtomicBool::new(false), note };
        edit.note.exists().then_some(edit)
    }

    /// Makes the change; a file that is not as expected stays as it is.
    pub(crate) fn apply(&self) -> Result<(), Fault> {
        let cannot = |error: io::Error| {
            Fault::unavailable(format!("wiki file '{}' cannot be written: {error}", self.path.display()))
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
        if self.before == self.after {
            return;
        }
        if self.applied.swap(false, Ordering::SeqCst)
            && let Err(error) = write_atomic(&self.path, &self.before)
        {
            tracing::error!(file = %self.path.display(), %error, "a wiki file keeps an edit that was not stored");
            return;
        }
        self.note.remove();
    }

    /// Notes that the page is stored.
    pub(crate) fn mark_stored(&self) {
        self.note.remove();
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
            // Applying it changes nothing, and failing to store it leaves it to be found again.
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

//! Notes of edits that have changed a file before their page is stored. If the process is killed in between, the note
//! says that the content of the file is an edit of ours, so that the next caller can store the page.
//!
//! A note is an empty file in a folder next to the page. Its name is a digest of the page's file, of what that held
//! before and of what it holds afterwards: no two edits share a note, and only the one of an unfinished edit fits both
//! the stored page and the file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use gatehouse_core::{hash::sha256_hex, ports::knowledge::PageType};
use gatehouse_files::sweep;

/// The folder of notes. It exists only as long as there are some.
const FOLDER: &str = ".gatehouse-edits";

/// Note of one edit.
#[derive(Debug, Default)]
pub(crate) struct EditNote {
    path: PathBuf,
}

impl EditNote {
    /// The note for a file and the hashes of its content before and after the edit. Writes nothing.
    pub(crate) fn new(file: &Path, before: &str, after: &str) -> Self {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Self { path: folder_of(file).join(sha256_hex(format!("{name}\n{before}\n{after}"))) }
    }

    pub(crate) fn exists(&self) -> bool {
        self.path.symlink_metadata().is_ok()
    }

    pub(crate) fn write(&self) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        loop {
            match fs::create_dir(folder) {
                // A link may lead anywhere.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if fs::symlink_metadata(folder).is_ok_and(|about| !about.is_dir()) {
                        return Err(error);
                    }
                }
                made => made?,
            }
            match fs::File::options().append(true).create(true).open(&self.path) {
                // Another edit has just removed the folder with its own note.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return opened.map(drop),
            }
        }
    }

    /// Removes the note, and the folder with the last one.
    pub(crate) fn remove(&self) {
        if fs::remove_file(&self.path).is_ok()
            && let Some(folder) = self.path.parent()
        {
            // It stays as long as there are others.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn folder_of(file: &Path) -> PathBuf {
    file.with_file_name(FOLDER)
}

/// Whether an edit may be unfinished of this file, or of one in the same folder.
pub(crate) fn may_be_unfinished(file: &Path) -> bool {
    folder_of(file).symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// All notes of a wiki.
pub(crate) fn all(root: &Path) -> Vec<EditNote> {
    let notes = folders(root).filter_map(|folder| fs::read_dir(folder.join(FOLDER)).ok());
    notes.flatten().flatten().map(|entry| EditNote { path: entry.path() }).collect()
}

/// Removes notes of edits that no longer matter, and temporary files of edits that were killed.
pub(crate) fn clean(root: &Path, notes: &[EditNote]) {
    notes.iter().for_each(EditNote::remove);
    folders(root).for_each(|folder| sweep(&folder));
}

/// Folders of a wiki that hold pages.
fn folders(root: &Path) -> impl Iterator<Item = PathBuf> {
    let typed = PageType::ALL.into_iter().map(|kind| root.join(kind.folder()));
    typed.chain([root.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_of_one_edit_and_leaves_nothing_behind() {
        let wiki = tempfile::tempdir().unwrap();
        fs::create_dir(wiki.path().join("principles")).unwrap();
        let file = wiki.path().join("principles/A.md");
        let (note, other) = (EditNote::new(&file, "a", "b"), EditNote::new(&file, "b", "a"));
        note.write().unwrap();
        note.write().unwrap();
        assert!(note.exists() && !other.exists() && may_be_unfinished(&file));
        assert!(!EditNote::new(&file.with_file_name("B.md"), "a", "b").exists());
        other.write().unwrap();
        note.remove();
        assert!(!note.exists() && other.exists());
        clean(wiki.path(), &all(wiki.path()));
        assert!(!may_be_unfinished(&file));
        assert_eq!(fs::read_dir(wiki.path().join("principles")).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_place_of_the_folder_is_refused() {
        let wiki = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(outside.path(), wiki.path().join(FOLDER)).unwrap();
        let file = wiki.path().join("Principle_A.mediawiki");
        assert!(EditNote::new(&file, "a", "b").write().is_err() && !may_be_unfinished(&file));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

//! Markers for edits that changed a file before their page was stored. If the process is killed in between, the marker
//! proves that the file contains our edit, and the next caller can store the page.
//!
//! A marker is an empty file in a directory next to the page. Its name is a digest of the file name and of the content
//! hashes before and after the edit, so it matches only the stored page and file of that unfinished edit.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use gatehouse_core::{hash::sha256_hex, ports::knowledge::PageType};
use gatehouse_files::sweep;

/// Directory of the markers. Exists only while there are markers.
const FOLDER: &str = ".gatehouse-edits";

#[derive(Debug, Default)]
pub(crate) struct EditMarker {
    path: PathBuf,
}

impl EditMarker {
    /// Creates the marker for a file and the hashes of its content before and after the edit. Writes nothing.
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
                // A symbolic link could lead anywhere.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if fs::symlink_metadata(folder).is_ok_and(|about| !about.is_dir()) {
                        return Err(error);
                    }
                }
                made => made?,
            }
            match fs::File::options().append(true).create(true).open(&self.path) {
                // A concurrent edit removed the directory with its own marker.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                opened => return opened.map(drop),
            }
        }
    }

    /// Removes the marker, and the directory if it is empty.
    pub(crate) fn remove(&self) {
        if fs::remove_file(&self.path).is_ok()
            && let Some(folder) = self.path.parent()
        {
            // Fails while other markers exist.
            let _ = fs::remove_dir(folder);
        }
    }
}

fn folder_of(file: &Path) -> PathBuf {
    file.with_file_name(FOLDER)
}

/// Returns `true` if this file, or another one in its directory, may have an unfinished edit.
pub(crate) fn may_be_unfinished(file: &Path) -> bool {
    folder_of(file).symlink_metadata().is_ok_and(|about| about.is_dir())
}

pub(crate) fn all(root: &Path) -> Vec<EditMarker> {
    let notes = folders(root).filter_map(|folder| fs::read_dir(folder.join(FOLDER)).ok());
    notes.flatten().flatten().map(|entry| EditMarker { path: entry.path() }).collect()
}

/// Removes obsolete markers, and temporary files of killed edits.
pub(crate) fn clean(root: &Path, notes: &[EditMarker]) {
    notes.iter().for_each(EditMarker::remove);
    folders(root).for_each(|folder| sweep(&folder));
}

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
        let (note, other) = (EditMarker::new(&file, "a", "b"), EditMarker::new(&file, "b", "a"));
        note.write().unwrap();
        note.write().unwrap();
        assert!(note.exists() && !other.exists() && may_be_unfinished(&file));
        assert!(!EditMarker::new(&file.with_file_name("B.md"), "a", "b").exists());
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
        assert!(EditMarker::new(&file, "a", "b").write().is_err() && !may_be_unfinished(&file));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}

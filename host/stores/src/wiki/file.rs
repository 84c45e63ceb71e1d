//! Reads, creates and compares wiki files, and makes reversible edits to them.

use std::{
    fs::{self, Metadata},
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};

use gatehouse_core::outcome::Fault;
use gatehouse_files::{write_atomic, write_new};

use super::{edit_marker::EditMarker, record::file_hash, roots::WikiRoots};

pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// Reason that a file was not read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReadError {
    Outside,
    /// The file is inside, but invalid. Contains the reason.
    Invalid(String),
}

pub(crate) fn read_text(root: &Path, path: &Path) -> Result<String, ReadError> {
    let because = |error: std::io::Error| ReadError::Invalid(format!("cannot be read: {error}"));
    let real: PathBuf = path.canonicalize().map_err(because)?;
    if !real.starts_with(root) {
        return Err(ReadError::Outside);
    }
    // Check before opening: opening a named pipe would block.
    let about = fs::metadata(&real).map_err(because)?;
    if !about.is_file() {
        return Err(ReadError::Invalid("not a file".into()));
    }
    let file = fs::File::open(&real).map_err(because)?;
    let mut bytes = Vec::new();
    // Read one extra byte to detect a file that is growing.
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(because)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let mib = MAX_FILE_BYTES / 1024 / 1024;
        return Err(ReadError::Invalid(format!("larger than {mib} MiB ({} bytes)", about.len())));
    }
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(ReadError::Invalid(format!("not text: NUL at byte {at}")));
    }
    String::from_utf8(bytes).map_err(|error| {
        ReadError::Invalid(format!("not UTF-8 from byte {}", error.utf8_error().valid_up_to()))
    })
}

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
        let is_applied = written.is_ok() || fs::read(&self.path).is_ok_and(|now| now == self.after);
        self.applied.store(is_applied, Ordering::SeqCst);
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

/// Minimum age of a modification. A younger file could change again within one tick of the file system's clock, so it
/// counts as changed.
const MIN_SETTLED_AGE: Duration = Duration::from_secs(2);

/// Metadata of a file at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileFingerprint {
    modified: SystemTime,
    size: u64,
    /// Device, inode and change time. A rename replaces the inode.
    identity: (u64, u64, i64, i64),
}

impl FileFingerprint {
    /// Returns the current state. `None` if it is unavailable or the file changed just now.
    pub(crate) fn capture(path: &Path) -> Option<Self> {
        let seen = Self::read(path)?;
        let settled = SystemTime::now().duration_since(seen.modified).is_ok_and(|age| age > MIN_SETTLED_AGE);
        settled.then_some(seen)
    }

    /// Returns `true` if the file is unchanged.
    pub(crate) fn is_unchanged(&self, path: &Path) -> bool {
        Self::read(path).as_ref() == Some(self)
    }

    fn read(path: &Path) -> Option<Self> {
        // Rejects symbolic links. The reader resolves those.
        let about = fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
        Some(Self { modified: about.modified().ok()?, size: about.len(), identity: identity(&about) })
    }
}

#[cfg(unix)]
fn identity(about: &Metadata) -> (u64, u64, i64, i64) {
    use std::os::unix::fs::MetadataExt as _;
    (about.dev(), about.ino(), about.ctime(), about.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64, i64, i64) {
    (0, 0, 0, 0)
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

    #[test]
    fn a_file_that_is_replaced_or_written_again_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.md");
        let old = SystemTime::now() - Duration::from_secs(60);
        let write = |text: &str| {
            fs::write(&path, text).unwrap();
            fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
        };
        write("one");
        let seen = FileFingerprint::capture(&path).unwrap();
        assert!(seen.is_unchanged(&path));
        write_atomic(&path, b"two").unwrap();
        assert!(!seen.is_unchanged(&path), "the same size, and another file");
        assert_eq!(FileFingerprint::capture(&path), None, "too recent to detect another change");
        write("longer");
        assert!(!seen.is_unchanged(&path));
        fs::remove_file(&path).unwrap();
        assert!(!seen.is_unchanged(&path) && FileFingerprint::capture(&path).is_none());
    }
}

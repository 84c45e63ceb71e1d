//! Fingerprints of files, to detect later changes without reading the content.

use std::{
    fs::{self, Metadata},
    path::Path,
    time::{Duration, SystemTime},
};

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
        gatehouse_files::write_atomic(&path, b"two").unwrap();
        assert!(!seen.is_unchanged(&path), "the same size, and another file");
        assert_eq!(FileFingerprint::capture(&path), None, "too recent to detect another change");
        write("longer");
        assert!(!seen.is_unchanged(&path));
        fs::remove_file(&path).unwrap();
        assert!(!seen.is_unchanged(&path) && FileFingerprint::capture(&path).is_none());
    }
}

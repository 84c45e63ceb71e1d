//! Identity of a file, which tells whether another file took its place.

use std::{os::unix::fs::MetadataExt as _, path::Path};

/// Device and inode.
pub(crate) type FileIdentity = (u64, u64);

/// Returns the identity of a file. `None` if it does not exist.
pub(crate) fn identity(path: &Path) -> Option<FileIdentity> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.dev(), about.ino()))
}

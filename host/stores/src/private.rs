//! Folders for what is its owner's alone.

use std::{fs, io, path::Path};

/// Makes a folder, and what is missing on the way to it, that nobody else can enter. One that is there keeps
/// its mode.
pub fn make_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

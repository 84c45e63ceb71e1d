//! Reads one file with limits. The file may have been replaced since the walk.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// Larger files are usually generated, and would crowd out other documents in a search.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

/// Why a file has no new document.
#[derive(Debug)]
pub(crate) enum NoDocument {
    Unchanged,
    Skipped(&'static str),
    /// The stored version stays.
    Unreadable(&'static str),
    /// Deleted after the walk.
    Gone,
}

impl From<io::Error> for NoDocument {
    fn from(error: io::Error) -> Self {
        #[cfg(unix)]
        if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
            return Self::Skipped("is a symbolic link");
        }
        match error.kind() {
            io::ErrorKind::NotFound => Self::Gone,
            io::ErrorKind::PermissionDenied => Self::Unreadable("cannot be read: permission denied"),
            _ => Self::Unreadable("cannot be read"),
        }
    }
}

/// Reads a file. Retries once if it changes during the read.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>, NoDocument> {
    for _ in 0..2 {
        if let Some(bytes) = try_read(path)? {
            return Ok(bytes);
        }
    }
    Err(NoDocument::Unreadable("changed while it was read"))
}

/// Returns `None` if the file changed during the read.
fn try_read(path: &Path) -> Result<Option<Vec<u8>>, NoDocument> {
    let file = open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Err(NoDocument::Skipped("is not a regular file"));
    }
    if before.len() > MAX_BYTES {
        return Err(NoDocument::Skipped("is larger than 4 MB"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default() + 1);
    (&file).take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let same = same(&before, &file.metadata()?) && bytes.len() as u64 == before.len();
    Ok(same.then_some(bytes))
}

fn same(before: &Metadata, after: &Metadata) -> bool {
    before.len() == after.len() && before.modified().ok() == after.modified().ok()
}

/// Does not follow links, and does not block on a pipe.
fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default());
    }
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn unreadable_files_are_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.md");
        assert!(matches!(read_file(&path), Err(NoDocument::Gone)));
        fs::write(&path, "text").expect("written");
        assert!(matches!(read_file(&path), Ok(bytes) if bytes == b"text"));
        assert!(matches!(read_file(folder.path()), Err(NoDocument::Skipped(_))));
        let large = File::create(folder.path().join("large")).expect("made");
        large.set_len(50_000_000).expect("grown");
        assert!(matches!(
            read_file(&folder.path().join("large")),
            Err(NoDocument::Skipped("is larger than 4 MB"))
        ));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), "text").expect("written");
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("b")).expect("linked");
        assert!(
            matches!(read_file(&folder.path().join("b")), Err(NoDocument::Skipped(why)) if why.contains("link"))
        );
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("made");
        assert!(matches!(read_file(&pipe), Err(NoDocument::Skipped(why)) if why.contains("regular file")));
    }
}

//! Reads one file with limits. The file may have been replaced since the walk.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read as _},
    path::Path,
};

/// Larger files are usually generated, and would crowd out other documents in a search.
pub(crate) const MAX_BYTES: u64 = 4 << 20;

#[derive(Debug)]
pub(crate) enum ReadOutcome {
    Bytes(Vec<u8>),
    Skipped(&'static str),
    /// The stored version stays.
    Unreadable(&'static str),
    /// Deleted after the walk.
    Gone,
}

/// Reads a file. Retries once if it changes during the read.
pub(crate) fn read_file(path: &Path) -> ReadOutcome {
    for _ in 0..2 {
        match try_read(path) {
            Ok(Some(fetched)) => return fetched,
            Ok(None) => {}
            Err(error) => return read_failure(&error),
        }
    }
    ReadOutcome::Unreadable("changed while it was read")
}

fn read_failure(error: &io::Error) -> ReadOutcome {
    if error.kind() == io::ErrorKind::NotFound {
        return ReadOutcome::Gone;
    }
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return ReadOutcome::Skipped("is a symbolic link");
    }
    match error.kind() {
        io::ErrorKind::PermissionDenied => ReadOutcome::Unreadable("cannot be read: permission denied"),
        _ => ReadOutcome::Unreadable("cannot be read"),
    }
}

/// Returns `None` if the file changed during the read.
fn try_read(path: &Path) -> io::Result<Option<ReadOutcome>> {
    let file = open(path)?;
    let before = file.metadata()?;
    if !before.is_file() {
        return Ok(Some(ReadOutcome::Skipped("is not a regular file")));
    }
    if before.len() > MAX_BYTES {
        return Ok(Some(ReadOutcome::Skipped("is larger than 4 MB")));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or_default() + 1);
    (&file).take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let same = same(&before, &file.metadata()?) && bytes.len() as u64 == before.len();
    Ok(same.then_some(ReadOutcome::Bytes(bytes)))
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
        assert!(matches!(read_file(&path), ReadOutcome::Gone));
        fs::write(&path, "text").expect("written");
        assert!(matches!(read_file(&path), ReadOutcome::Bytes(bytes) if bytes == b"text"));
        assert!(matches!(read_file(folder.path()), ReadOutcome::Skipped(_)));
        let large = File::create(folder.path().join("large")).expect("made");
        large.set_len(50_000_000).expect("grown");
        assert!(matches!(
            read_file(&folder.path().join("large")),
            ReadOutcome::Skipped("is larger than 4 MB")
        ));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("a"), "text").expect("written");
        std::os::unix::fs::symlink(folder.path().join("a"), folder.path().join("b")).expect("linked");
        assert!(
            matches!(read_file(&folder.path().join("b")), ReadOutcome::Skipped(why) if why.contains("link"))
        );
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .expect("made");
        assert!(matches!(read_file(&pipe), ReadOutcome::Skipped(why) if why.contains("regular file")));
    }
}

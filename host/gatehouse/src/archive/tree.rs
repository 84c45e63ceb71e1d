//! Walks directories that gates may write to at the same time.
//!
//! Follows no links and opens only regular files, even if entries are replaced during the walk. Anything else is
//! skipped and reported, so that no gate can block the backup.

use std::{
    ffi::CStr,
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat},
    io::Errno,
};

use super::make::ArchiveWriter;

/// Maximum depth of nested directories. Each level holds an open file descriptor.
const MAX_DEPTH: usize = 64;

/// Adds a directory as `name`, if it exists.
pub(super) fn add(writer: &mut ArchiveWriter, folder: &Path, name: &str) -> io::Result<()> {
    match open(CWD, folder, OFlags::DIRECTORY) {
        Ok(folder) => below(writer, &folder, name, MAX_DEPTH),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn below(writer: &mut ArchiveWriter, folder: &OwnedFd, name: &str, depth: usize) -> io::Result<()> {
    writer.folder(name, fstat(folder)?.st_mode & 0o777)?;
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            entries.push(entry.file_name().to_owned());
        }
    }
    entries.sort();
    for entry in entries {
        let Ok(shown) = entry.to_str() else {
            writer.leave_out(&format!("{name}/{}", entry.to_string_lossy()), "its name is not UTF-8");
            continue;
        };
        let path = format!("{name}/{shown}");
        match one(writer, folder, &entry, &path, depth) {
            Ok(()) => {}
            // Removed since the directory was read.
            Err(CopyError::Source(Errno::NOENT)) => {}
            Err(CopyError::Source(error)) => writer.leave_out(&path, error),
            Err(CopyError::Target(error)) => return Err(error),
        }
    }
    Ok(())
}

enum CopyError {
    Source(Errno),
    Target(io::Error),
}

impl From<Errno> for CopyError {
    fn from(error: Errno) -> Self {
        Self::Source(error)
    }
}

fn one(
    writer: &mut ArchiveWriter,
    folder: &OwnedFd,
    entry: &CStr,
    path: &str,
    depth: usize,
) -> Result<(), CopyError> {
    let about = statat(folder, entry, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory if depth == 0 => {
            writer.leave_out(path, format!("more than {MAX_DEPTH} nested directories"));
            Ok(())
        }
        FileType::Directory => {
            let inner = open(folder, entry, OFlags::DIRECTORY)?;
            below(writer, &inner, path, depth - 1).map_err(CopyError::Target)
        }
        FileType::RegularFile => {
            // If it became a pipe since `statat`, opening it must not block.
            let file = open(folder, entry, OFlags::NONBLOCK)?;
            let about = fstat(&file)?;
            if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
                writer.leave_out(path, "it is not a regular file");
                return Ok(());
            }
            // If a file grows while it is read, copy only its initial size.
            let content = File::from(file).take(u64::try_from(about.st_size).unwrap_or(0));
            writer.file(path, about.st_mode & 0o777, content).map_err(CopyError::Target)
        }
        FileType::Symlink => {
            let target = readlinkat(folder, entry, Vec::new())?;
            match target.to_str() {
                Ok(target) => writer.link(path, target).map_err(CopyError::Target),
                Err(_) => {
                    writer.leave_out(path, "its target is not UTF-8");
                    Ok(())
                }
            }
        }
        _ => {
            writer.leave_out(path, "it is not a regular file");
            Ok(())
        }
    }
}

fn open(folder: impl AsFd, name: impl rustix::path::Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(folder, name, flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

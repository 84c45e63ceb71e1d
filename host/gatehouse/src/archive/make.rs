//! Creates archives. The target file appears only when it is complete.
//!
//! Walks directories that gates may write to at the same time: follows no links and opens only regular files, even if
//! entries are replaced during the walk. Anything else is skipped and reported, so that no gate can block the backup.

use std::{
    collections::BTreeMap,
    ffi::CStr,
    fs::File,
    io::{self, Read, Seek as _, Write},
    os::fd::{AsFd, OwnedFd},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use gatehouse_core::hash::hex;
use gatehouse_files::{ScratchFolder, sweep};
use gatehouse_stores::DataFile;
use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, readlinkat, statat},
    io::Errno,
};
use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::{ArchiveManifest, EntryKind, FOLDERS, FORMAT, MANIFEST, PlainError, io_message};

pub(crate) struct ArchiveSummary {
    pub(crate) manifest: ArchiveManifest,
    pub(crate) bytes: u64,
}

struct ArchiveWriter {
    tar: Builder<File>,
    files: BTreeMap<String, EntryKind>,
    left_out: Vec<String>,
    /// Buffer for one entry: tar stores the size first, and files can change while they are read.
    scratch: File,
}

/// Creates an archive of a data directory. Blocking.
pub(crate) fn make(state: &Path, target: &Path, force: bool) -> Result<ArchiveSummary, PlainError> {
    if !force && target.symlink_metadata().is_ok() {
        bail!("{} already exists; name another file, or add --force", target.display());
    }
    if !DataFile::ALL.iter().any(|data_file| state.join(data_file.file()).exists())
        && !FOLDERS.iter().any(|folder| state.join(folder).exists())
    {
        bail!("there is nothing to back up in {}", state.display());
    }
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = |error: io::Error| io_message("written", target, error) + "; no file was written";
    // Shared locks keep a restore out until this is done.
    let _locks = DataFile::ALL
        .map(|data_file| data_file.lock_shared(&state.join(data_file.file())))
        .into_iter()
        .collect::<Result<Vec<_>, _>>()?;
    // Work in a private directory. First remove those of killed backups.
    sweep(folder);
    let work = ScratchFolder::new_in(folder).map_err(failed)?;
    let databases = gatehouse_stores::copy(state, work.path()).map_err(|fault| {
        let (target, reason) = (target.display(), fault.in_one_line());
        format!("{target}: the databases cannot be copied: {reason}; no file was written")
    })?;
    // The file has mode 0600, because it contains private data of gates.
    let archive = tempfile::NamedTempFile::new_in(work.path()).map_err(failed)?;
    let scratch = tempfile::tempfile_in(work.path()).map_err(failed)?;
    let tar = Builder::new(archive.as_file().try_clone().map_err(failed)?);
    let mut writer = ArchiveWriter { tar, files: BTreeMap::new(), left_out: Vec::new(), scratch };
    for (data_file, _) in &databases {
        let file = File::open(work.path().join(data_file.file())).map_err(failed)?;
        writer.file(data_file.file(), 0o600, file).map_err(failed)?;
    }
    for folder in FOLDERS {
        add_tree(&mut writer, &state.join(folder), folder).map_err(failed)?;
    }
    let databases =
        databases.into_iter().map(|(data_file, schema)| (data_file.file().to_owned(), schema)).collect();
    let manifest = writer.finish(databases).map_err(failed)?;
    archive.as_file().sync_all().map_err(failed)?;
    let bytes = archive.as_file().metadata().map_err(failed)?.len();
    let named = if force { archive.persist(target) } else { archive.persist_noclobber(target) };
    named.map_err(|error| failed(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(ArchiveSummary { manifest, bytes })
}

impl ArchiveWriter {
    /// Adds the current content of a file, with its digest.
    fn file(&mut self, path: &str, mode: u32, mut file: impl Read) -> io::Result<()> {
        self.scratch.set_len(0)?;
        self.scratch.rewind()?;
        let mut digested = DigestWriter { inner: &mut self.scratch, digest: Sha256::new() };
        let size = io::copy(&mut file, &mut digested)?;
        let digest = hex(digested.digest.finalize());
        self.scratch.rewind()?;
        let mut header = header(EntryType::Regular, mode);
        header.set_size(size);
        self.tar.append_data(&mut header, path, (&self.scratch).take(size))?;
        self.files.insert(path.to_owned(), EntryKind::File(size, digest));
        Ok(())
    }

    fn folder(&mut self, path: &str, mode: u32) -> io::Result<()> {
        self.tar.append_data(&mut header(EntryType::Directory, mode), format!("{path}/"), io::empty())
    }

    fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.tar.append_link(&mut header(EntryType::Symlink, 0o777), path, target)?;
        self.files.insert(path.to_owned(), EntryKind::Link(target.to_owned()));
        Ok(())
    }

    fn leave_out(&mut self, path: &str, reason: impl std::fmt::Display) {
        self.left_out.push(format!("{path}: {reason}"));
    }

    fn finish(mut self, databases: BTreeMap<String, i64>) -> io::Result<ArchiveManifest> {
        let manifest = ArchiveManifest {
            format: FORMAT,
            gatehouse: env!("CARGO_PKG_VERSION").into(),
            created_at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64),
            files: self.files,
            databases,
            left_out: self.left_out,
        };
        let text = serde_json::to_vec(&manifest)?;
        let mut header = header(EntryType::Regular, 0o600);
        header.set_size(text.len() as u64);
        self.tar.append_data(&mut header, MANIFEST, text.as_slice())?;
        self.tar.into_inner()?.flush()?;
        Ok(manifest)
    }
}

/// Creates a header without owner and time, which mean nothing on another machine.
fn header(kind: EntryType, mode: u32) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(0);
    header.set_size(0);
    header
}

pub(super) struct DigestWriter<W> {
    pub(super) inner: W,
    pub(super) digest: Sha256,
}

impl<W: Write> Write for DigestWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.digest.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// Maximum depth of nested directories. Each level holds an open file descriptor.
const MAX_DEPTH: usize = 64;

/// Adds a directory as `name`, if it exists.
fn add_tree(writer: &mut ArchiveWriter, folder: &Path, name: &str) -> io::Result<()> {
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
            Ok(()) | Err(CopyError::Gone) => {}
            Err(CopyError::Skipped(reason)) => writer.leave_out(&path, reason),
            Err(CopyError::Target(error)) => return Err(error),
        }
    }
    Ok(())
}

enum CopyError {
    /// The entry was removed since the directory was read.
    Gone,
    Skipped(String),
    Target(io::Error),
}

impl From<Errno> for CopyError {
    fn from(error: Errno) -> Self {
        if error == Errno::NOENT { Self::Gone } else { Self::Skipped(error.to_string()) }
    }
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        Self::Target(error)
    }
}

fn one(
    writer: &mut ArchiveWriter,
    folder: &OwnedFd,
    entry: &CStr,
    path: &str,
    depth: usize,
) -> Result<(), CopyError> {
    let skipped = |reason: &str| CopyError::Skipped(reason.to_owned());
    let about = statat(folder, entry, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(about.st_mode) {
        FileType::Directory if depth == 0 => {
            return Err(skipped(&format!("more than {MAX_DEPTH} nested directories")));
        }
        FileType::Directory => {
            let inner = open(folder, entry, OFlags::DIRECTORY)?;
            below(writer, &inner, path, depth - 1)?;
        }
        FileType::RegularFile => {
            // If it became a pipe since `statat`, opening it must not block.
            let file = open(folder, entry, OFlags::NONBLOCK)?;
            let about = fstat(&file)?;
            if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
                return Err(skipped("it is not a regular file"));
            }
            // If a file grows while it is read, copy only its initial size.
            let content = File::from(file).take(u64::try_from(about.st_size).unwrap_or(0));
            writer.file(path, about.st_mode & 0o777, content)?;
        }
        FileType::Symlink => {
            let target = readlinkat(folder, entry, Vec::new())?;
            writer.link(path, target.to_str().map_err(|_| skipped("its target is not UTF-8"))?)?;
        }
        _ => return Err(skipped("it is not a regular file")),
    }
    Ok(())
}

fn open(folder: impl AsFd, name: impl rustix::path::Arg, flags: OFlags) -> Result<OwnedFd, Errno> {
    openat(folder, name, flags | OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

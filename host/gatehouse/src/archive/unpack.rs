//! Unpacks an archive into an empty directory and checks it.
//!
//! The archive is untrusted: paths cannot leave the directory, and files that do not match the digests in the manifest
//! are refused.

use std::{
    collections::BTreeMap,
    fs::{self, File, OpenOptions},
    io::{self, Read},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink},
    path::{Component, Path},
};

use gatehouse_core::hash::hex;
use gatehouse_stores::{DataFile, check};
use sha2::{Digest as _, Sha256};
use tar::{Archive, EntryType};

use super::{
    ArchiveManifest, EntryKind, FOLDERS, FORMAT, MANIFEST, PlainError, io_message, make::DigestWriter,
};

/// Maximum size of the manifest: about ten thousand files for each of a hundred gates.
const MAX_MANIFEST: u64 = 256 << 20;

const MAX_PATH: usize = 16 << 10;

/// Unpacks and checks an archive. Afterwards `folder` matches the manifest. Blocking.
pub(super) fn unpack(archive: &Path, folder: &Path) -> Result<ArchiveManifest, PlainError> {
    let file = File::open(archive).map_err(|error| io_message("read", archive, error))?;
    let wrong =
        |reason: String| format!("{} is not a backup that can be restored: {reason}", archive.display());
    let mut unpacked = ArchiveUnpacker { folder, found: BTreeMap::new(), manifest: None };
    let mut tar = Archive::new(io::BufReader::new(file));
    let entries = tar.entries().map_err(|error| wrong(error.to_string()))?;
    for entry in entries {
        let entry = entry.map_err(|error| wrong(error.to_string()))?;
        if unpacked.manifest.is_some() {
            return Err(wrong("data follows its manifest".to_owned()).into());
        }
        unpacked.unpack_entry(entry).map_err(|failed| match failed {
            UnpackError::Archive(reason) => wrong(reason),
            UnpackError::Disk(error) => io_message("written", folder, error),
        })?;
    }
    let manifest =
        unpacked.manifest.ok_or_else(|| wrong("it has no manifest, so it is incomplete".into()))?;
    let differs = manifest.files.iter().find(|(path, kind)| unpacked.found.get(*path) != Some(*kind));
    if let Some((path, _)) = differs {
        return Err(wrong(format!("'{path}' is missing or does not match the manifest")).into());
    }
    if unpacked.found.len() != manifest.files.len() {
        return Err(wrong("it contains files that its manifest does not list".to_owned()).into());
    }
    for kept in DataFile::ALL {
        let path = folder.join(kept.file());
        if path.exists() {
            check(kept, &path).map_err(|fault| wrong(fault.in_one_line()))?;
        }
    }
    // Create links last, so that nothing is written through them.
    for (path, kind) in &manifest.files {
        if let EntryKind::Link(target) = kind {
            symlink(target, folder.join(path)).map_err(|error| io_message("written", folder, error))?;
        }
    }
    Ok(manifest)
}

struct ArchiveUnpacker<'a> {
    folder: &'a Path,
    found: BTreeMap<String, EntryKind>,
    manifest: Option<ArchiveManifest>,
}

enum UnpackError {
    Archive(String),
    Disk(io::Error),
}

impl From<io::Error> for UnpackError {
    fn from(error: io::Error) -> Self {
        Self::Disk(error)
    }
}

impl ArchiveUnpacker<'_> {
    fn unpack_entry(&mut self, mut entry: tar::Entry<'_, impl Read>) -> Result<(), UnpackError> {
        let bad = |reason: String| UnpackError::Archive(reason);
        let bytes = entry.path_bytes().into_owned();
        let path = String::from_utf8(bytes).map_err(|_| bad("a path in it is not UTF-8".into()))?;
        let path = path.trim_end_matches('/').to_owned();
        let kind = entry.header().entry_type();
        if path == MANIFEST && kind == EntryType::Regular {
            self.manifest = Some(manifest(&mut entry).map_err(|reason| bad(reason.into()))?);
            return Ok(());
        }
        if !allowed(&path) {
            return Err(bad(format!("unexpected path '{}'", gatehouse_core::names::quoted(&path, 100))));
        }
        let target = self.folder.join(&path);
        if let Some(parent) = target.parent() {
            folder(parent)?;
        }
        let entry_kind = match kind {
            EntryType::Directory => return Ok(folder(&target)?),
            EntryType::Regular => {
                let mode = entry.header().mode().unwrap_or(0o600) & 0o777;
                let file =
                    OpenOptions::new().write(true).create_new(true).mode(mode | 0o600).open(&target)?;
                let mut digested = DigestWriter { inner: file, digest: Sha256::new() };
                let size = copy(&mut entry, &mut digested)?;
                digested.inner.sync_all()?;
                EntryKind::File(size, hex(digested.digest.finalize()))
            }
            EntryType::Symlink => {
                let to = entry.link_name_bytes().and_then(|to| String::from_utf8(to.into_owned()).ok());
                EntryKind::Link(to.ok_or_else(|| bad(format!("the link '{path}' has no valid target")))?)
            }
            _ => return Err(bad(format!("'{path}' is neither a file nor a directory"))),
        };
        match self.found.insert(path.clone(), entry_kind) {
            None => Ok(()),
            Some(_) => Err(bad(format!("duplicate path '{path}'"))),
        }
    }
}

/// Copies like `io::copy`, but distinguishes read errors of the archive from write errors of the disk.
fn copy(entry: &mut impl Read, file: &mut impl io::Write) -> Result<u64, UnpackError> {
    let (mut buffer, mut size) = (vec![0; 64 << 10], 0);
    loop {
        let read = entry.read(&mut buffer).map_err(|error| UnpackError::Archive(error.to_string()))?;
        if read == 0 {
            return Ok(size);
        }
        file.write_all(&buffer[..read])?;
        size += read as u64;
    }
}

fn manifest(entry: &mut impl Read) -> Result<ArchiveManifest, PlainError> {
    let value: serde_json::Value = serde_json::from_reader(io::BufReader::new(entry.take(MAX_MANIFEST)))
        .map_err(|error| format!("its manifest is damaged: {error}"))?;
    match value["format"].as_u64() {
        Some(format) if format == u64::from(FORMAT) => {}
        Some(format) => {
            let by = value["gatehouse"].as_str().unwrap_or("unknown");
            bail!(
                "it has layout {format} of gatehouse {by}, and this version supports {FORMAT}; update gatehouse"
            );
        }
        None => return Err("its manifest has no layout version".into()),
    }
    serde_json::from_value(value).map_err(|error| format!("its manifest is damaged: {error}").into())
}

/// Returns whether a path is a database or below one of the archived directories, with plain names only.
fn allowed(path: &str) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let mut parts = Path::new(path).components();
    let whole = path.len() <= MAX_PATH && !path.is_empty() && parts.clone().all(plain);
    let top = parts.next().and_then(|part| part.as_os_str().to_str()).unwrap_or_default();
    let alone = parts.next().is_none();
    let database = DataFile::ALL.iter().any(|data_file| data_file.file() == top);
    whole && ((alone && database) || FOLDERS.contains(&top))
}

fn folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_a_data_directory_are_unpacked() {
        for good in ["knowledge.db", "kv.db", "gates", "gates/a/notes/x", "components/ab.wasm"] {
            assert!(allowed(good), "{good}");
        }
        for bad in
            ["", "/etc/passwd", "gates/../x", "../x", "cache/x", "kv.db/x", "trust/trusted.json", "x.db"]
        {
            assert!(!allowed(bad), "{bad}");
        }
    }
}

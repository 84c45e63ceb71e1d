//! Reproducible archives: their bytes depend only on their contents.

use std::{
    collections::BTreeSet,
    io::{Cursor, Write},
};

use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

/// Timestamp of every entry, in Unix seconds: 1980, the earliest year of the zip format.
pub(crate) const TIME: u64 = 315_532_800;

#[derive(Debug, Clone)]
pub(crate) struct ArchiveEntry {
    /// Path from the top of the archive, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) runs: bool,
}

impl ArchiveEntry {
    pub(crate) fn file(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into(), runs: false }
    }

    pub(crate) fn program(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { runs: true, ..Self::file(path, bytes) }
    }

    fn mode(&self) -> u32 {
        if self.runs { 0o755 } else { 0o644 }
    }
}

/// Packs a gzipped tar. Directories precede their contents, because some unpackers do not create missing ones.
pub(crate) fn tar_gz(mut entries: Vec<ArchiveEntry>, level: Compression) -> Result<Vec<u8>> {
    let folders: BTreeSet<String> = entries.iter().flat_map(|entry| parents(&entry.path)).collect();
    entries.extend(folders.into_iter().map(|path| ArchiveEntry::program(path, "")));
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    // The gzip header would otherwise contain the time and the system.
    let packed = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), level);
    let mut archive = tar::Builder::new(packed);
    for entry in &entries {
        let mut header = tar::Header::new_ustar();
        if entry.path.ends_with('/') {
            header.set_entry_type(tar::EntryType::Directory);
        }
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(entry.mode());
        header.set_mtime(TIME);
        header.set_uid(0);
        header.set_gid(0);
        archive
            .append_data(&mut header, &entry.path, entry.bytes.as_slice())
            .with_context(|| format!("cannot pack {}", entry.path))?;
    }
    Ok(archive.into_inner()?.finish()?)
}

/// Returns the directories above a path, each with a trailing `/`.
fn parents(path: &str) -> impl Iterator<Item = String> {
    path.match_indices('/').map(|(at, _)| path[..=at].to_owned()).filter(|folder| folder != "./")
}

/// Packs a zip in the given order: some readers want a certain entry first or last.
pub(crate) fn zip(entries: &[ArchiveEntry], level: Compression) -> Result<Vec<u8>> {
    let method =
        if level == Compression::none() { CompressionMethod::Stored } else { CompressionMethod::Deflated };
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for entry in entries {
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(DateTime::default())
            .unix_permissions(entry.mode());
        archive.start_file(&entry.path, options).with_context(|| format!("cannot pack {}", entry.path))?;
        archive.write_all(&entry.bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<ArchiveEntry> {
        vec![ArchiveEntry::program("b/run", "x"), ArchiveEntry::file("a", "y")]
    }

    #[test]
    fn the_same_entries_make_the_same_bytes() {
        let level = Compression::best();
        let other: Vec<ArchiveEntry> = entries().into_iter().rev().collect();
        assert_eq!(tar_gz(entries(), level).expect("a tar"), tar_gz(other, level).expect("a tar"));
        assert_eq!(zip(&entries(), level).expect("a zip"), zip(&entries(), level).expect("a zip"));
    }

    #[test]
    fn folders_come_before_what_is_in_them() {
        let packed = tar_gz(vec![ArchiveEntry::file("./a/b/c", "x")], Compression::none()).expect("a tar");
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed.as_slice()));
        let paths = archive
            .entries()
            .expect("entries")
            .map(|entry| entry.expect("an entry").path().expect("a path").display().to_string());
        assert_eq!(paths.collect::<Vec<_>>(), ["a/", "a/b/", "a/b/c"]);
    }

    #[test]
    fn a_digest_is_that_of_the_standard() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256_hex(b"abc"), abc, "FIPS 180-2, appendix B.1");
    }
}

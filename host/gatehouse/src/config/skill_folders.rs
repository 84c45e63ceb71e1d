//! Folders of skills that presets serve. The host reloads when a file in one changes.

use std::{
    collections::BTreeMap,
    fs::{self, DirEntry},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Folders with a digest of the names, sizes and times of their files.
pub(crate) type SkillFolders = BTreeMap<PathBuf, u64>;

/// Maximum entries that the digest of a folder covers.
const MAX_ENTRIES: usize = 10_000;

/// Maximum folders to watch. Changes in others are noticed by the next check.
const MAX_WATCHED: usize = 256;

pub(super) fn digest(folder: &Path) -> u64 {
    let mut digest = DefaultHasher::new();
    for entry in entries(folder) {
        let about = entry.metadata().ok();
        let time = about.as_ref().and_then(|about| about.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
        (entry.path(), about.map(|about| about.len()), time).hash(&mut digest);
    }
    digest.finish()
}

/// Returns whether a file in one of the folders was added, changed or removed.
pub(crate) fn changed(folders: &SkillFolders) -> bool {
    folders.iter().any(|(folder, known)| digest(folder) != *known)
}

/// Returns the folders and those below them.
pub(crate) fn watched(folders: &SkillFolders) -> impl Iterator<Item = PathBuf> {
    folders.keys().flat_map(|folder| {
        let below = entries(folder).into_iter().map(|entry| entry.path()).filter(|path| path.is_dir());
        std::iter::once(folder.clone()).chain(below.take(MAX_WATCHED))
    })
}

/// Returns everything below a folder, except names that start with a dot, which no skill has. Sorted by path.
fn entries(folder: &Path) -> Vec<DirEntry> {
    let mut open = vec![folder.to_owned()];
    let mut all: Vec<DirEntry> = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".") || all.len() >= MAX_ENTRIES {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
            all.push(entry);
        }
    }
    all.sort_by_key(DirEntry::path);
    all
}

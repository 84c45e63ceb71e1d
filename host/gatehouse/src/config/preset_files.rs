//! Files that presets refer to, besides `presets.toml` itself. The host reloads when one changes.
//!
//! Gate parameters that are read from a file: `{"$file" = "scripts/report.ts"}` is replaced by the file's text. The file
//! must be in the directory of `presets.toml` or below. Folders of skills: their files are served.

use std::{
    collections::BTreeMap,
    fs::{self, DirEntry},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Component, Path, PathBuf},
    time::SystemTime,
};

use gatehouse_core::names::quoted;
use serde_json::{Map, Value};

use super::PlainError;

const KEY: &str = "$file";

const MAX_FILE_BYTES: u64 = 256 << 10;

/// Depth to which parameters are searched for files.
const MAX_DEPTH: usize = 16;

/// Files inserted into parameters, with their text.
pub(crate) type ParamFiles = BTreeMap<PathBuf, String>;

/// Replaces each `$file` object with the text of its file. The error names the file.
pub(super) fn insert(
    params: &mut Map<String, Value>,
    base: Option<&Path>,
    inserted: &mut ParamFiles,
) -> Result<(), PlainError> {
    params.values_mut().try_for_each(|value| insert_within(value, base, inserted, MAX_DEPTH))
}

fn insert_within(
    value: &mut Value,
    base: Option<&Path>,
    inserted: &mut ParamFiles,
    remaining_depth: usize,
) -> Result<(), PlainError> {
    if remaining_depth == 0 {
        return Ok(());
    }
    match value {
        Value::Object(object) if object.contains_key(KEY) => {
            let (Some(path), 1) = (object[KEY].as_str(), object.len()) else {
                bail!("expected {{\"{KEY}\" = \"PATH\"}} without other keys");
            };
            let text = read(path, base, inserted)?;
            *value = text.into();
            Ok(())
        }
        Value::Object(object) => object
            .values_mut()
            .try_for_each(|member| insert_within(member, base, inserted, remaining_depth - 1)),
        Value::Array(list) => {
            list.iter_mut().try_for_each(|item| insert_within(item, base, inserted, remaining_depth - 1))
        }
        _ => Ok(()),
    }
}

fn read(path: &str, base: Option<&Path>, inserted: &mut ParamFiles) -> Result<String, PlainError> {
    let wrong = |reason: &str| PlainError::from(format!("{KEY} '{}': {reason}", quoted(path, 200)));
    let base = base.ok_or_else(|| wrong("the built-in presets.toml has no directory"))?;
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Err(wrong("the path must be relative and inside the directory of presets.toml"));
    }
    let file = base.join(path);
    let failed = |error: std::io::Error| wrong(&format!("cannot be read: {error}"));
    // Links may point to other places in the directory, but not outside it.
    let (real, folder) = (file.canonicalize().map_err(failed)?, base.canonicalize().map_err(failed)?);
    if !real.starts_with(&folder) {
        return Err(wrong("it is outside the directory of presets.toml"));
    }
    let about = fs::metadata(&real).map_err(failed)?;
    if !about.is_file() {
        return Err(wrong("it is not a regular file"));
    }
    if about.len() > MAX_FILE_BYTES {
        return Err(wrong(&format!("it has {} bytes; the limit is {MAX_FILE_BYTES}", about.len())));
    }
    let text = String::from_utf8(fs::read(&real).map_err(failed)?).map_err(|_| wrong("it is not UTF-8"))?;
    inserted.insert(real, text.clone());
    Ok(text)
}

/// Returns whether one of the files was changed or removed.
pub(crate) fn params_changed(inserted: &ParamFiles) -> bool {
    inserted.iter().any(|(file, text)| {
        let same_length =
            fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() == text.len() as u64);
        !same_length || fs::read(file).is_ok_and(|now| now != text.as_bytes())
    })
}

#[cfg(test)]
mod tests;

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
pub(crate) fn skills_changed(folders: &SkillFolders) -> bool {
    folders.iter().any(|(folder, known)| digest(folder) != *known)
}

/// Returns the folders and those below them.
pub(crate) fn watched_skills(folders: &SkillFolders) -> impl Iterator<Item = PathBuf> {
    folders.keys().flat_map(|folder| {
        let below = entries(folder).into_iter().map(|entry| entry.path()).filter(|path| path.is_dir());
        std::iter::once(folder.clone()).chain(below.take(MAX_WATCHED))
    })
}

/// Returns everything below a folder, except names that start with a dot, which no skill has. Sorted by path.
fn entries(folder: &Path) -> Vec<DirEntry> {
    let mut open = vec![folder.to_owned()];
    let mut entries: Vec<DirEntry> = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(b".") || entries.len() >= MAX_ENTRIES {
                continue;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
            entries.push(entry);
        }
    }
    entries.sort_by_key(DirEntry::path);
    entries
}

//! Gate parameters that are read from a file: `{"$file" = "scripts/report.ts"}` is replaced by the file's text.
//!
//! The file must be in the directory of `presets.toml` or below. The host reloads when it changes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Component, Path, PathBuf},
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
    left: usize,
) -> Result<(), PlainError> {
    if left == 0 {
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
        Value::Object(object) => {
            object.values_mut().try_for_each(|one| insert_within(one, base, inserted, left - 1))
        }
        Value::Array(list) => {
            list.iter_mut().try_for_each(|one| insert_within(one, base, inserted, left - 1))
        }
        _ => Ok(()),
    }
}

fn read(path: &str, base: Option<&Path>, inserted: &mut ParamFiles) -> Result<String, PlainError> {
    let wrong = |why: &str| PlainError::from(format!("{KEY} '{}': {why}", quoted(path, 200)));
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
pub(crate) fn changed(inserted: &ParamFiles) -> bool {
    inserted.iter().any(|(file, text)| {
        let same_length =
            fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() == text.len() as u64);
        !same_length || fs::read(file).is_ok_and(|now| now != text.as_bytes())
    })
}

#[cfg(test)]
mod tests;

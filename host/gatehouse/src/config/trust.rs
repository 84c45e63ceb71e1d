//! Trusted configurations in working directories, by path and content digest. The list is in the user's own data
//! directory, which no configuration or variable can move.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
};

use gatehouse_core::hash::sha256_hex;
use serde::{Deserialize, Serialize};

use super::{ConfigError, locate, locked_files};

/// The list of trusted files. Unknown keys are refused, so that nothing is trusted by mistake.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustedFiles {
    /// SHA-256 of the content, by canonical path.
    pub(crate) files: BTreeMap<String, String>,
}

impl TrustedFiles {
    /// Reads the list. It is empty if the file does not exist.
    pub(crate) fn read() -> Result<Self, ConfigError> {
        Self::read_from(&file()?)
    }

    fn read_from(file: &Path) -> Result<Self, ConfigError> {
        let failed = |reason| ConfigError::new(file.display(), format!("the list of trusted files {reason}"));
        locked_files::read_json(file).map_err(failed)
    }

    /// Returns whether `path` is trusted with this content. `None` if it is not listed.
    pub(crate) fn trusts(&self, path: &Path, content: &[u8]) -> Option<bool> {
        self.files.get(path.to_str()?).map(|trusted| *trusted == sha256_hex(content))
    }
}

pub(crate) fn add(path: &Path, content: &[u8]) -> Result<(), ConfigError> {
    let name = path.to_str().ok_or_else(|| {
        ConfigError::new(
            path.display(),
            "its path is not UTF-8 and cannot be listed; name the file with --config instead",
        )
    })?;
    change(|list| drop(list.files.insert(name.to_owned(), sha256_hex(content))))
}

/// Removes a file from the list. Returns whether it was listed.
pub(crate) fn remove(path: &Path) -> Result<bool, ConfigError> {
    let mut was = false;
    change(|list| was = path.to_str().is_some_and(|name| list.files.remove(name).is_some()))?;
    Ok(was)
}

/// Returns the directory of the list, which hosts watch for changes.
pub(crate) fn folder() -> Option<PathBuf> {
    Some(locate::user_data()?.join("trust"))
}

fn file() -> Result<PathBuf, ConfigError> {
    let folder = folder().ok_or_else(|| {
        ConfigError::new(
            "HOME",
            "there is no home directory, so nothing can be trusted; name the file with --config",
        )
    })?;
    Ok(folder.join("trusted.json"))
}

/// Edits the list under its lock, so that concurrent commands do not lose changes.
fn change(edit: impl FnOnce(&mut TrustedFiles)) -> Result<(), ConfigError> {
    let file = file()?;
    let failed = |error: io::Error| ConfigError::new(file.display(), format!("cannot be written: {error}"));
    locked_files::edit_json(&file, failed, TrustedFiles::read_from, |list| {
        edit(list);
        Ok(true)
    })
    .map(drop)
}

//! The record of the data directory about its configurations: the contents that a person applied, and whether the last
//! host over HTTP had `[auth]`. A file that lost its content, or its `[auth]`, starts no open host.

use std::{collections::BTreeMap, io, path::Path};

use gatehouse_core::hash::sha256_hex;
use serde::{Deserialize, Serialize};

use super::{Config, ConfigError, locked_files};

const RECORD: &str = "applied.json";

#[derive(Debug, Default, Serialize, Deserialize)]
struct AppliedConfigs {
    /// True if the host over HTTP that started last had `[auth]`.
    #[serde(default)]
    auth: bool,
    /// SHA-256 of the content that was applied last, by path.
    #[serde(default)]
    files: BTreeMap<String, String>,
}

impl AppliedConfigs {
    fn read(file: &Path) -> Result<Self, ConfigError> {
        locked_files::read_json(file).map_err(|reason| ConfigError::new(file.display(), reason))
    }
}

/// Returns whether a person applied this content of a configuration. Blocking.
pub(crate) fn is_applied(state: &Path, file: &Path, content: &str) -> Result<bool, ConfigError> {
    let applied = AppliedConfigs::read(&state.join(RECORD))?;
    Ok(applied.files.get(&*file.to_string_lossy()).is_some_and(|digest| *digest == sha256_hex(content)))
}

/// Records that a person wants the current content of the configuration. Blocking.
pub(crate) fn apply(config: &Config) -> Result<(), ConfigError> {
    edit(&config.state, |record| match (&config.file, &config.text) {
        (Some(file), Some(text)) => {
            let digest = sha256_hex(text);
            record.files.insert(file.to_string_lossy().into_owned(), digest.clone()) != Some(digest)
        }
        _ => false,
    })
}

/// Checks that the file was not emptied and did not lose its `[auth]`, unless a person applied it. Blocking.
pub(crate) fn check_start(config: &Config, over_http: bool) -> Result<(), ConfigError> {
    let has_auth = config.auth.is_some();
    let had_auth = over_http && AppliedConfigs::read(&config.state.join(RECORD))?.auth;
    if let (Some(file), Some(text)) = (&config.file, &config.text) {
        let lost = match text.trim().is_empty() {
            true => Some("is empty"),
            false if had_auth && !has_auth => {
                Some("has no [auth], but the last host on this data directory had it")
            }
            false => None,
        };
        if let Some(lost) = lost.filter(|_| !matches!(is_applied(&config.state, file, text), Ok(true))) {
            let reason =
                format!("{lost}. Restore it, or run `gatehouse presets apply` if this is what you want");
            return Err(ConfigError::new(file.display(), reason));
        }
    }
    // A host without a record writes none until there is something to remember.
    match over_http && had_auth != has_auth {
        true => edit(&config.state, |record| std::mem::replace(&mut record.auth, has_auth) != has_auth),
        false => Ok(()),
    }
}

fn edit(state: &Path, change: impl FnOnce(&mut AppliedConfigs) -> bool) -> Result<(), ConfigError> {
    let file = state.join(RECORD);
    let failed = |error: io::Error| ConfigError::new(file.display(), format!("cannot be written: {error}"));
    locked_files::edit_json(&file, failed, AppliedConfigs::read, |record| Ok(change(record))).map(drop)
}

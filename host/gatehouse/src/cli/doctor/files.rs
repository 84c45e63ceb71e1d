//! Checks of the data directory, the cache and the databases, which need no valid configuration.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, path::Path};

use gatehouse_core::Fault;
use gatehouse_stores::DataFile;

use super::PlainError;
use crate::{check::CheckLine, data_owner, pinned_command::quoted};

/// Checks that both directories can be written, and that their files belong to the owner of the directory.
pub(super) fn check_folders(state: &Path, cache: &Path) -> Vec<CheckLine> {
    let mut checks = Vec::new();
    for (name, folder) in [("data directory", state), ("cache", cache)] {
        checks.push(CheckLine::from_result(name, writable(folder)));
        checks.extend(foreign_files(folder).map(|reason| CheckLine::failed(name, reason)));
    }
    checks
}

/// Checks that the directory, or its nearest existing ancestor, can be written. Leaves both unchanged.
fn writable(folder: &Path) -> Result<String, PlainError> {
    if let Ok(target) = fs::read_link(folder)
        && !folder.exists()
    {
        bail!("{} is a link to {}, which does not exist", folder.display(), target.display());
    }
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(folder);
    let display_path = folder.display().to_string();
    match tempfile::NamedTempFile::new_in(existing) {
        Ok(_) if existing == folder => Ok(display_path),
        Ok(_) => Ok(format!("{display_path} (created on first use)")),
        Err(error) => Err(format!("{display_path} cannot be written: {error}").into()),
    }
}

/// Describes files of other users in a directory, for example from a command that root ran.
fn foreign_files(folder: &Path) -> Option<String> {
    let owner = fs::metadata(folder).ok()?.uid();
    let entries = fs::read_dir(folder).ok()?.flatten();
    let users = entries.filter_map(|entry| {
        let user = entry.metadata().ok()?.uid();
        (user != owner).then(|| (user, entry.file_name().to_string_lossy().into_owned()))
    });
    let users: Vec<(u32, String)> = users.collect();
    let (_, first) = users.first()?;
    let names: BTreeSet<String> = users.iter().map(|(user, _)| data_owner::user_name(*user)).collect();
    let (names, owner_name) =
        (names.into_iter().collect::<Vec<_>>().join(", "), data_owner::user_name(owner));
    Some(format!(
        "{} of its files belong to {names}, for example {first}, and the directory to {owner_name}; run `sudo chown -R \
         {owner} -- {}`",
        users.len(),
        quoted(&folder.display().to_string())
    ))
}

/// Checks all databases of a data directory.
pub(super) async fn databases(state: &Path) -> Vec<CheckLine> {
    let state = state.to_owned();
    let to_check_line = |(file, result): (DataFile, Result<i64, Fault>)| {
        let result = result.map(|schema| format!("intact, schema {schema}"));
        CheckLine::from_result(format!("database {}", file.file()), result)
    };
    match tokio::task::spawn_blocking(move || gatehouse_stores::check_all(&state)).await {
        Ok(checked) => checked.into_iter().map(to_check_line).collect(),
        Err(error) => vec![CheckLine::failed("databases", format!("the check ended early: {error}"))],
    }
}

//! The data directory as one file: created while hosts run, checked, and restored completely or not at all, even if the
//! process is killed.
//!
//! The format is tar: consistent copies of the databases, private directories of gates, components from registries, and
//! at the end `manifest.json` with the digest of each file. An archive without a manifest is refused.
//!
//! Not included: files that can be rebuilt (`cache`), runtime files of hosts (`hosts`), and files of the user
//! (`presets.toml`, the list of trusted files, wiki directories).
//!
//! The archive is unpacked and checked in a temporary directory, which the next command removes if this one is killed.
//! Renaming it to `restore/` commits the restore; `restore/ready` lists the parts. Then each part is moved in turn. A
//! later command that finds `restore/ready` resumes the moves.

mod make;
mod unpack;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use gatehouse_files::{ScratchFolder, sweep, write_atomic};
use gatehouse_stores::{DataFile, DatabaseLock};
use serde::{Deserialize, Serialize};

use self::unpack::unpack;
use crate::{
    control::{self, RunningHost},
    plain_error::PlainError,
};
pub(crate) use make::{ArchiveSummary, make};

const FORMAT: u32 = 1;

const MANIFEST: &str = "manifest.json";

/// Subdirectories of a data directory that are archived with all content.
const FOLDERS: [&str; 2] = ["components", "gates"];

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ArchiveManifest {
    /// [`FORMAT`] at the time of creation.
    pub(crate) format: u32,
    pub(crate) gatehouse: String,
    /// Creation time in milliseconds since 1970.
    pub(crate) created_at: u64,
    pub(crate) files: BTreeMap<String, EntryKind>,
    /// Schema version of each database.
    pub(crate) databases: BTreeMap<String, i64>,
    /// Paths that could not be copied, with the reason.
    pub(crate) left_out: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum EntryKind {
    /// Size and SHA-256.
    File(u64, String),
    Link(String),
}

/// Returns the names in a data directory that an archive can contain.
fn names() -> impl Iterator<Item = &'static str> {
    DataFile::ALL.map(DataFile::file).into_iter().chain(FOLDERS)
}

fn io_message(what: &str, path: &Path, error: impl std::fmt::Display) -> String {
    format!("{} cannot be {what}: {error}", path.display())
}

const WORK_FOLDER: &str = "restore";

/// Restores a data directory from an archive. Blocking.
pub(crate) fn restore_archive(
    archive: &Path,
    state: &Path,
    force: bool,
    before_swap: impl FnOnce(&ArchiveManifest, &Path),
) -> Result<ArchiveManifest, PlainError> {
    let existing_names: Vec<&str> =
        names().filter(|name| state.join(name).symlink_metadata().is_ok()).collect();
    if !force && !existing_names.is_empty() {
        bail!(
            "{} already contains {}; save that with `gatehouse backup`, and add --force to replace it",
            state.display(),
            existing_names.join(", ")
        );
    }
    let failed = |error: io::Error| io_message("written", state, error) + "; nothing was changed";
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(failed)?;
    let _locks = lock_exclusively(state)?;
    remove(&state.join(WORK_FOLDER)).map_err(failed)?;
    let work = ScratchFolder::new_in(state).map_err(failed)?;
    let new = work.path().join("new");
    fs::DirBuilder::new().mode(0o700).create(&new).map_err(failed)?;
    let manifest = unpack(archive, &new)?;
    before_swap(&manifest, state);
    sync(&new).and_then(|()| commit(work, &new, state)).map_err(failed)?;
    resume_swap(state).map_err(|error| {
        io_message("written", state, error) + "; the next command that uses it resumes the restore"
    })?;
    Ok(manifest)
}

/// Resumes a committed restore, or removes an uncommitted one. Costs one directory lookup if there is none.
pub(crate) fn finish(state: &Path) -> Result<(), PlainError> {
    sweep(state);
    if !state.join(WORK_FOLDER).join("ready").exists() {
        return Ok(());
    }
    let _locks = lock_exclusively(state)?;
    let swapped = resume_swap(state);
    swapped.map_err(|error| (io_message("written", state, error) + "; a restore is incomplete").into())
}

/// Acquires the right to replace all data: no host runs on the data directory, and no process has a database open.
fn lock_exclusively(state: &Path) -> Result<Vec<DatabaseLock>, PlainError> {
    let hosts = control::running_now(state);
    if !hosts.is_empty() {
        let place = |host: &RunningHost| {
            let place = host.facts.address.map_or("over stdio".into(), |address| format!("on {address}"));
            format!("process {} {place}", host.facts.pid)
        };
        let (state, processes) = (state.display(), hosts.iter().map(place).collect::<Vec<_>>().join(", "));
        bail!("hosts are running on {state}: {processes}. Stop them first");
    }
    let locks = DataFile::ALL.iter().map(|data_file| data_file.lock_exclusive(&state.join(data_file.file())));
    Ok(locks.collect::<Result<_, _>>()?)
}

fn commit(work: ScratchFolder, new: &Path, state: &Path) -> io::Result<()> {
    let parts: Vec<&str> = names().filter(|name| new.join(name).exists()).collect();
    write_atomic(&work.path().join("ready"), &serde_json::to_vec(&parts)?)?;
    work.rename(&state.join(WORK_FOLDER))?;
    File::open(state)?.sync_all()
}

/// Moves old parts away and new ones into place. Can be repeated.
fn resume_swap(state: &Path) -> io::Result<()> {
    let work = state.join(WORK_FOLDER);
    let (new, old) = (work.join("new"), work.join("old"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&old)?;
    let parts: Vec<String> = serde_json::from_slice(&fs::read(work.join("ready"))?)?;
    for name in names() {
        let (here, fresh, moved) = (state.join(name), new.join(name), old.join(name));
        let comes = parts.iter().any(|part| part == name);
        // If a new part is not in `new`, it was already moved. A part that is not in the backup only moves away.
        if comes && fresh.symlink_metadata().is_err() {
            continue;
        }
        // SQLite's auxiliary files belong to the old database.
        for beside in ["-wal", "-shm"] {
            rename(&with_suffix(&here, beside), &with_suffix(&moved, beside))?;
        }
        if moved.symlink_metadata().is_err() {
            rename(&here, &moved)?;
        }
        if comes {
            rename(&fresh, &here)?;
        }
    }
    File::open(state)?.sync_all()?;
    // Remove the marker first, then the rest.
    fs::remove_file(work.join("ready"))?;
    File::open(&work)?.sync_all()?;
    remove(&work)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

/// Syncs all directories below `folder`, so that file names are durable.
fn sync(folder: &Path) -> io::Result<()> {
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            open.extend(entry.file_type()?.is_dir().then(|| entry.path()));
        }
        File::open(&folder)?.sync_all()?;
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

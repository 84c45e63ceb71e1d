//! Puts what was unpacked in the place of what is there: all of it or nothing, whenever the process dies.
//!
//! The archive is unpacked and checked in a temporary folder of the data folder, which the next command removes if this
//! one is killed. It counts from the moment that it is named `restore/`; `restore/ready` names the parts. From then on
//! each part is moved, one after the other, and a later command that finds `restore/ready` goes on where this one ended.

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use gatehouse_files::{ScratchFolder, sweep, write_atomic};
use gatehouse_stores::{DataFile, DatabaseLock};

use super::{ArchiveManifest, io_message, names, unpack::unpack};
use crate::presence;

/// Where it happens, below the data folder.
const WORK_FOLDER: &str = "restore";

/// Restores a data folder from an archive. Blocking.
pub(crate) fn restore_archive(archive: &Path, state: &Path, force: bool) -> Result<ArchiveManifest, String> {
    let there: Vec<&str> = names().filter(|name| state.join(name).symlink_metadata().is_ok()).collect();
    if !force && !there.is_empty() {
        return Err(format!(
            "{} holds {} already; `gatehouse backup` keeps that, and --force puts the backup in its place",
            state.display(),
            there.join(", ")
        ));
    }
    let failed = |error: io::Error| io_message("written", state, error) + "; nothing was changed";
    fs::DirBuilder::new().recursive(true).mode(0o700).create(state).map_err(failed)?;
    let _locks = lock_exclusively(state)?;
    remove(&state.join(WORK_FOLDER)).map_err(failed)?;
    let work = ScratchFolder::new_in(state).map_err(failed)?;
    let new = work.path().join("new");
    fs::DirBuilder::new().mode(0o700).create(&new).map_err(failed)?;
    let manifest = unpack(archive, &new)?;
    sync(&new).and_then(|()| commit(work, &new, state)).map_err(failed)?;
    resume_swap(state).map_err(|error| {
        io_message("written", state, error) + "; the next command that uses it goes on with the restore"
    })?;
    Ok(manifest)
}

/// Goes on with a restore that was killed, or removes what it left if it did not count yet. Costs one look at the
/// data folder if there is none.
pub(crate) fn finish(state: &Path) -> Result<(), String> {
    sweep(state);
    if !state.join(WORK_FOLDER).join("ready").exists() {
        return Ok(());
    }
    let _locks = lock_exclusively(state)?;
    resume_swap(state).map_err(|error| io_message("written", state, error) + "; a restore is not at its end")
}

/// The right to replace everything: no host runs on the data folder, and nobody has a database open.
fn lock_exclusively(state: &Path) -> Result<Vec<DatabaseLock>, String> {
    let hosts = presence::running(state);
    if !hosts.is_empty() {
        let each: Vec<String> = hosts
            .iter()
            .map(|host| match host.facts.address {
                Some(address) => format!("process {} on {address}", host.facts.pid),
                None => format!("process {} over stdio", host.facts.pid),
            })
            .collect();
        return Err(format!("hosts run on {}: {}. End them first", state.display(), each.join(", ")));
    }
    let locks =
        DataFile::ALL.iter().map(|kept| DatabaseLock::lock_exclusive(*kept, &state.join(kept.file())));
    locks.collect::<Result<_, _>>().map_err(|fault| fault.in_one_line())
}

/// From here on the restore counts.
fn commit(work: ScratchFolder, new: &Path, state: &Path) -> io::Result<()> {
    let parts: Vec<&str> = names().filter(|name| new.join(name).exists()).collect();
    write_atomic(&work.path().join("ready"), &serde_json::to_vec(&parts)?)?;
    work.rename(&state.join(WORK_FOLDER))?;
    File::open(state)?.sync_all()
}

/// Moves what is there away and what is new to its place, part by part; safe to be done again.
fn resume_swap(state: &Path) -> io::Result<()> {
    let work = state.join(WORK_FOLDER);
    let (new, old) = (work.join("new"), work.join("old"));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&old)?;
    let parts: Vec<String> = serde_json::from_slice(&fs::read(work.join("ready"))?)?;
    for name in names() {
        let (here, fresh, moved) = (state.join(name), new.join(name), old.join(name));
        let comes = parts.iter().any(|part| part == name);
        // A part that came has left `new`; one that the backup does not have only goes.
        if comes && fresh.symlink_metadata().is_err() {
            continue;
        }
        // What SQLite wrote beside a database belongs to the old one.
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
    // First what says that there is more to do, then the rest.
    fs::remove_file(work.join("ready"))?;
    File::open(&work)?.sync_all()?;
    remove(&work)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Moves what is there.
fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

/// Folders, after their files: names are on the disk only then.
fn sync(folder: &Path) -> io::Result<()> {
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
        File::open(&folder)?.sync_all()?;
    }
    Ok(())
}

/// Removes a file or a folder with all in it, if it is there.
fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

//! The shipped gates, which travel in the binary. Where a configuration has them among its folders, they are written
//! into a folder of the cache, and are files like all others from there on: watched, indexed, compiled once.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use gatehouse_files::{Durability, make_private, write_private};

use crate::config::Config;

include!(concat!(env!("OUT_DIR"), "/gates.rs"));

/// A gate in the binary.
struct BuiltIn {
    /// Of its file.
    name: &'static str,
    /// Bytes of its file.
    size: u64,
}

/// Every gate with its bytes: they are packed one behind the other.
fn unpacked() -> io::Result<Vec<(&'static BuiltIn, Vec<u8>)>> {
    let size: u64 = GATES.iter().map(|gate| gate.size).sum();
    let mut all = zstd::bulk::decompress(PACKED, size as usize)?;
    let mut gates = Vec::new();
    // From the last one, so that no byte is moved twice.
    for gate in GATES.iter().rev() {
        let begin = all.len().checked_sub(gate.size as usize);
        let begin =
            begin.ok_or_else(|| io::Error::other("the binary has fewer bytes of gates than it says"))?;
        gates.push((gate, all.split_off(begin)));
    }
    Ok(gates)
}

/// The list of what was written; no gate is called so.
const LIST: &str = "written";

/// The folder's name in a configuration.
pub(crate) const NAME: &str = "built-in";

/// The folders that a configuration names: this one by its name, others by their paths. The default has it, too.
pub(crate) fn folders(base: &Path, cache: &Path, named: Option<Vec<String>>) -> Vec<PathBuf> {
    let of = |entry: String| if entry == NAME { folder(cache) } else { base.join(entry) };
    named.unwrap_or_else(|| vec!["gates".into(), NAME.into()]).into_iter().map(of).collect()
}

/// Where they are. Hosts of several versions share a cache, so each has a folder of its own.
fn folder(cache: &Path) -> PathBuf {
    cache.join(NAME).join(VERSION)
}

/// True if a file is one of them.
pub(crate) fn is(file: &Path) -> bool {
    let stem = file.file_stem().map(|stem| stem.to_string_lossy());
    file.parent().is_some_and(is_folder) && stem.is_some_and(|stem| is_shipped(&stem))
}

/// True if this is the folder that the binary writes them into.
pub(crate) fn is_folder(folder: &Path) -> bool {
    folder.ends_with(Path::new(NAME).join(VERSION))
}

/// True if a gate of this name is in the binary.
pub(crate) fn is_shipped(name: &str) -> bool {
    names().any(|shipped| shipped == name)
}

/// Names of the gates in the binary.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GATES.iter().filter_map(|gate| gate.name.strip_suffix(".wasm"))
}

/// True if a file of this stem can be a gate in a folder. Files that the binary did not write into its own folder cannot.
pub(crate) fn admits(folder: &Path, stem: &str) -> bool {
    !is_folder(folder) || is_shipped(stem)
}

/// True if they are among the folders that a configuration names.
pub(crate) fn are_in(config: &Config) -> bool {
    config.gate_folders.contains(&folder(&config.cache))
}

/// Writes them at the start of a host or command. A configuration that does not name them gets them with the first
/// gate that is needed: most files have no use for them.
pub(crate) fn prepare(config: &Config) {
    if config.gates_named || folder(&config.cache).is_dir() {
        unpack(&config.cache, &config.gate_folders);
    }
}

/// Whether this binary was built with any.
pub(crate) fn are_there() -> bool {
    !GATES.is_empty()
}

/// Writes those that are missing or not what was written last, if they are among the folders that the configuration
/// names. What was written is known by a list beside them, so that a start reads none of them.
pub(crate) fn unpack(cache: &Path, configured: &[PathBuf]) {
    let folder = folder(cache);
    if !configured.contains(&folder) || GATES.is_empty() {
        return;
    }
    let list = folder.join(LIST);
    let written = fs::read_to_string(&list).unwrap_or_default();
    if GATES
        .iter()
        .all(|gate| written.lines().any(|line| stamp(&folder, gate).is_ok_and(|stamp| stamp == line)))
    {
        return;
    }
    let write = |(gate, bytes): (&BuiltIn, Vec<u8>)| {
        write_private(&folder.join(gate.name), &bytes, Durability::Unsynced)
    };
    let write_all = || {
        make_private(&folder)?;
        unpacked()?.into_iter().try_for_each(write)?;
        let stamps = GATES.iter().map(|gate| stamp(&folder, gate)).collect::<io::Result<Vec<_>>>()?;
        write_private(&list, stamps.join("\n").as_bytes(), Durability::Unsynced)
    };
    if let Err(error) = write_all() {
        tracing::warn!(folder = %folder.display(), %error, "the built-in gates cannot be unpacked");
    }
}

/// Makes the gate folder of the built-in configuration, for gates to be dropped in: the data folder around it is not
/// watched, as databases are written there all the time. Nobody asked for it, so a host that cannot make it works on.
pub(crate) fn make_default_folder(config: &Config) {
    let unnamed = config.default_gate_folder.as_ref().filter(|_| config.file.is_none());
    if let Some(folder) = unnamed.filter(|folder| config.gate_folders.contains(folder))
        && let Err(error) = make_private(folder)
    {
        tracing::debug!(folder = %folder.display(), %error, "the default folder of gates cannot be made");
    }
}

/// What a file is known by: another file of the same name has another length, time or number.
fn stamp(folder: &Path, gate: &BuiltIn) -> io::Result<String> {
    let about = fs::metadata(folder.join(gate.name))?;
    if !about.is_file() || about.len() != gate.size {
        return Err(io::Error::other("not the file that was written"));
    }
    let time = about.modified()?.duration_since(UNIX_EPOCH).map_err(io::Error::other)?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&about);
    #[cfg(not(unix))]
    let number = 0;
    Ok(format!("{} {} {number} {}", about.len(), time.as_nanos(), gate.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_written_again_when_it_is_another_file() {
        let cache = tempfile::tempdir().expect("a folder");
        let folder = folder(cache.path());
        unpack(cache.path(), std::slice::from_ref(&folder));
        for gate in GATES {
            let file = folder.join(gate.name);
            assert_eq!(fs::read(&file).expect("a gate").len() as u64, gate.size);
            let before = fs::read_to_string(folder.join(LIST)).expect("a list");
            // As long as the gate, and another file.
            fs::remove_file(&file).expect("removed");
            fs::write(&file, vec![0; gate.size as usize]).expect("written");
            unpack(cache.path(), std::slice::from_ref(&folder));
            assert_ne!(fs::read_to_string(folder.join(LIST)).expect("a list"), before);
            assert!(fs::read(&file).expect("a gate").starts_with(b"\0asm"), "{}", gate.name);
        }
        let before = fs::read_to_string(folder.join(LIST));
        unpack(cache.path(), std::slice::from_ref(&folder));
        assert_eq!(fs::read_to_string(folder.join(LIST)).ok(), before.ok(), "nothing is written twice");
    }
}

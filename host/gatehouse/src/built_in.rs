//! The shipped gates, which travel in the binary. Where a configuration has them among its folders, they are written
//! into a folder of the cache, and are files like all others from there on: watched, indexed, compiled once.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gatehouse_files::{Durability, make_private, write_private};

use crate::config::Config;

include!(concat!(env!("OUT_DIR"), "/gates.rs"));

/// The folder's name in a configuration.
pub(crate) const NAME: &str = "built-in";

/// The folders that a configuration names: this one by its name, others by their paths.
pub(crate) fn folders(base: &Path, cache: &Path, named: Option<Vec<String>>) -> Vec<PathBuf> {
    let of = |entry: String| if entry == NAME { folder(cache) } else { base.join(entry) };
    named.unwrap_or_else(|| vec!["gates".into()]).into_iter().map(of).collect()
}

/// Where they are. Hosts of several versions share a cache, so each has a folder of its own.
fn folder(cache: &Path) -> PathBuf {
    cache.join(NAME).join(VERSION)
}

/// Whether a file is one of them.
pub(crate) fn is(file: &Path) -> bool {
    file.parent().is_some_and(|folder| folder.ends_with(Path::new(NAME).join(VERSION)))
}

/// Whether this binary was built with any.
pub(crate) fn are_there() -> bool {
    !GATES.is_empty()
}

/// Writes those that are missing or not what the binary carries, if they are among the folders that the
/// configuration names.
pub(crate) fn unpack(cache: &Path, configured: &[PathBuf]) {
    let folder = folder(cache);
    let missing = |(name, gate): &&(&str, &[u8])| !holds(&folder.join(name), gate);
    for (name, gate) in GATES.iter().filter(|_| configured.contains(&folder)).filter(missing) {
        let file = folder.join(name);
        let write = |()| write_private(&file, gate, Durability::Unsynced);
        if let Err(error) = make_private(&folder).and_then(write) {
            tracing::warn!(file = %file.display(), %error, "a built-in gate cannot be unpacked");
        }
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

/// Whether a file has just these bytes. One of another length is not read: it could be endless.
fn holds(file: &Path, bytes: &[u8]) -> bool {
    let long_as = |about: fs::Metadata| about.is_file() && about.len() == bytes.len() as u64;
    fs::metadata(file).is_ok_and(long_as) && fs::read(file).is_ok_and(|kept| kept == bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_same_length_is_not_the_same_gate() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kg.wasm");
        assert!(!holds(&file, b"gate"));
        for (kept, same) in [("gate", true), ("etag", false), ("gates", false)] {
            fs::write(&file, kept).expect("written");
            assert_eq!(holds(&file, b"gate"), same, "{kept}");
        }
    }
}

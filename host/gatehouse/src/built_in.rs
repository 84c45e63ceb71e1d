//! The shipped gates, which travel in the binary. Where a configuration has them among its folders, they are written
//! into a folder of the cache, and are files like all others from there on: watched, indexed, compiled once.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gatehouse_files::{Durability, make_private, write_private};

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

/// Writes those that are missing, if they are among the folders that the configuration names.
pub(crate) fn unpack(cache: &Path, configured: &[PathBuf]) {
    let folder = folder(cache);
    let missing = |(name, gate): &&(&str, &[u8])| {
        fs::metadata(folder.join(name)).map_or(true, |meta| meta.len() != gate.len() as u64)
    };
    for (name, gate) in GATES.iter().filter(|_| configured.contains(&folder)).filter(missing) {
        let file = folder.join(name);
        let write = |()| write_private(&file, gate, Durability::Unsynced);
        if let Err(error) = make_private(&folder).and_then(write) {
            tracing::warn!(file = %file.display(), %error, "a built-in gate cannot be unpacked");
        }
    }
}

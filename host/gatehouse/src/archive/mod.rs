//! The data folder as one file: made while hosts run, checked, and put back whole or not at all.
//!
//! It is a tar: the databases as copies that are whole, what gates keep in private folders, the components that
//! came from registries, and at its end `manifest.json` with the digest of each file, without which it is not an archive.
//! Left out is what is made again (`cache`), what only lives while hosts run (`hosts`), and what is the
//! operator's own (presets.toml, the list of trusted files, wiki folders).

mod make;
mod swap;
mod tree;
mod unpack;

use std::{collections::BTreeMap, path::Path};

use gatehouse_stores::DataFile;
use serde::{Deserialize, Serialize};

pub(crate) use make::make;
pub(crate) use swap::{finish, restore_archive};

/// The version of the layout.
const FORMAT: u32 = 1;

/// The last file of an archive.
const MANIFEST: &str = "manifest.json";

/// Folders of a data folder that are kept with all below them.
const FOLDERS: [&str; 2] = ["components", "gates"];

/// What an archive holds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ArchiveManifest {
    /// [`FORMAT`] of whoever made it.
    pub(crate) format: u32,
    /// Version of the gatehouse that made it.
    pub(crate) gatehouse: String,
    /// When, in milliseconds since 1970.
    pub(crate) created_at: u64,
    /// Each file's size and SHA-256, by its path.
    pub(crate) files: BTreeMap<String, Kind>,
    /// Version of each database's schema.
    pub(crate) databases: BTreeMap<String, i64>,
    /// What could not be copied, with the reason.
    pub(crate) left_out: Vec<String>,
}

/// What a path of an archive is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Size and SHA-256.
    File(u64, String),
    /// Where the link leads.
    Link(String),
}

/// Everything that a data folder may hold of an archive.
fn names() -> impl Iterator<Item = &'static str> {
    DataFile::ALL.map(DataFile::file).into_iter().chain(FOLDERS)
}

fn io_message(what: &str, path: &Path, error: impl std::fmt::Display) -> String {
    format!("{} cannot be {what}: {error}", path.display())
}

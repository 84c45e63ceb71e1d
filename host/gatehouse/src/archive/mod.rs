//! The data directory as one file: created while hosts run, checked, and restored completely or not at all.
//!
//! The format is tar: consistent copies of the databases, private directories of gates, components from registries, and
//! at the end `manifest.json` with the digest of each file. An archive without a manifest is refused.
//!
//! Not included: files that can be rebuilt (`cache`), runtime files of hosts (`hosts`), and files of the user
//! (`presets.toml`, the list of trusted files, wiki directories).

mod make;
mod swap;
mod unpack;

use std::{collections::BTreeMap, path::Path};

use gatehouse_stores::DataFile;
use serde::{Deserialize, Serialize};

use crate::plain_error::PlainError;
pub(crate) use make::{ArchiveSummary, make};
pub(crate) use swap::{finish, restore_archive};

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

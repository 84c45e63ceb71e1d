//! Where the knowledge graph is, checked.

use std::path::{Path, PathBuf};

use super::{checked::below, raw};

/// The knowledge graph.
#[derive(Debug, PartialEq)]
pub(crate) struct KnowledgeConfig {
    /// Who keeps the pages.
    pub(crate) engine: raw::KnowledgeEngine,
    /// Folders the tools may touch, absolute.
    pub(crate) wiki_roots: Vec<PathBuf>,
}

impl KnowledgeConfig {
    /// Paths are relative to the folder of the file.
    pub(super) fn checked(raw: raw::Knowledge, base: &Path) -> Self {
        Self { engine: raw.engine, wiki_roots: below(base, raw.wiki_roots) }
    }
}

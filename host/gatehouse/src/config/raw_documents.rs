//! `[documents]` of presets.toml as it is typed.

use schemars::JsonSchema;
use serde::Deserialize;

/// The repositories of documents.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawDocuments {
    /// Who keeps them.
    pub(crate) engine: DocumentsEngine,
    /// Whose tables they are in (PostgreSQL): "own", or "existing" for those of another program, which are only read.
    /// By default whichever are there, and new ones of its own where none are.
    pub(crate) tables: TableOwner,
}

/// Engines of the documents.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DocumentsEngine {
    /// A file in the data folder.
    #[default]
    Sqlite,
    /// A PostgreSQL server; DOCUMENTS_DATABASE_URL, or else DATABASE_URL, says which.
    Postgres,
}

/// Whose tables documents are in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TableOwner {
    /// Whichever are there.
    #[default]
    Found,
    /// Made and kept by Gatehouse.
    Own,
    /// Those of another program, `repositories` and `repository_files`: read, never changed.
    Existing,
}

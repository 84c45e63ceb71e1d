//! `[documents]` of `presets.toml`, as written.

use schemars::JsonSchema;
use serde::Deserialize;

/// Document repositories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawDocuments {
    /// Storage engine.
    pub(crate) engine: DocumentsEngine,
    /// Owner of the tables (PostgreSQL): "own", or "existing" for tables of another program, which are only read.
    /// Default: the tables that exist, or new ones of its own.
    pub(crate) tables: TableOwner,
}

/// Document engines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DocumentsEngine {
    /// A file in the data directory.
    #[default]
    Sqlite,
    /// A PostgreSQL server, set by DOCUMENTS_DATABASE_URL or else DATABASE_URL.
    Postgres,
}

/// Owner of the document tables.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TableOwner {
    /// The tables that exist.
    #[default]
    Found,
    /// Created and maintained by Gatehouse.
    Own,
    /// Tables of another program, `repositories` and `repository_files`: read, never changed.
    Existing,
}

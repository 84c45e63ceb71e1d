//! `[artifacts]` of `presets.toml`, as written.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// Results that are too large to show, stored in full for a limited time. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawArtifacts {
    /// Storage engine.
    pub(crate) engine: ArtifactsEngine,
    /// Hours to store them, 1 to 8760, 3 by default. MCP_GATEWAY_INTELLIGENCE_TTL_HOURS overrides it.
    #[schemars(with = "Option<u64>")]
    pub(crate) ttl_hours: Option<Spanned<u64>>,
    /// Limit on disk for all of them, "1 GiB" by default, "1 MiB" to "1024 GiB".
    #[schemars(with = "Option<String>")]
    pub(crate) max_bytes: Option<Spanned<String>>,
}

/// Artifact engines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArtifactsEngine {
    /// A file in the data directory.
    #[default]
    Sqlite,
    /// A PostgreSQL server that several hosts can share, set by DATABASE_URL.
    Postgres,
}

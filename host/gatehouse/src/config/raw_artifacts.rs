//! `[artifacts]` of presets.toml as it is typed.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// Results that were too large to show, kept whole for a while. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawArtifacts {
    /// Who keeps them.
    pub(crate) engine: ArtifactsEngine,
    /// How many hours they are kept, 1 to 8760, 3 by default. MCP_GATEWAY_INTELLIGENCE_TTL_HOURS wins.
    #[schemars(with = "Option<u64>")]
    pub(crate) ttl_hours: Option<Spanned<u64>>,
    /// What all of them may take on disk, "1 GiB" by default, "1 MiB" to "1024 GiB".
    #[schemars(with = "Option<String>")]
    pub(crate) max_bytes: Option<Spanned<String>>,
}

/// Engines of the artifacts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ArtifactsEngine {
    /// A file in the data folder.
    #[default]
    Sqlite,
    /// A PostgreSQL server, for several hosts that share them; DATABASE_URL says which.
    Postgres,
}

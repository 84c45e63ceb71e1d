//! `[ledger]` of `presets.toml`, as written.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// Call statistics: counts and times, never arguments or replies. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawLedger {
    /// Whether calls are recorded, true by default.
    pub(crate) enabled: Option<bool>,
    /// Days to store single calls, 1 to 3650, 7 by default. Daily totals are stored permanently.
    #[schemars(with = "Option<u64>")]
    pub(crate) retention_days: Option<Spanned<u64>>,
}

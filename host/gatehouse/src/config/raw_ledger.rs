//! `[ledger]` of presets.toml as it is typed.

use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// How calls went: counts and times, never arguments or replies. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawLedger {
    /// Whether anything is written down, true by default.
    pub(crate) enabled: Option<bool>,
    /// How many days single calls are kept, 1 to 3650, 7 by default. What they add up to by day is kept for ever.
    #[schemars(with = "Option<u64>")]
    pub(crate) retention_days: Option<Spanned<u64>>,
}

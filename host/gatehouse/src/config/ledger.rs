//! `[ledger]`, as written and validated.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ConfigText, Spanned};

/// Default retention of single calls, in days.
const RETENTION_DAYS: u32 = 7;

/// Maximum retention: ten years. Daily totals are stored permanently.
const MAX_RETENTION_DAYS: u32 = 3_650;

/// Call statistics: counts and times, never arguments or replies. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Ledger")]
pub(crate) struct RawLedger {
    /// Whether calls are recorded, true by default.
    pub(crate) enabled: Option<bool>,
    /// Days to store single calls, 1 to 3650, 7 by default. Daily totals are stored permanently.
    pub(crate) retention_days: Option<Spanned<u64>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LedgerConfig {
    pub(crate) enabled: bool,
    pub(crate) retention_days: u32,
}

impl LedgerConfig {
    pub(super) fn validate(text: &ConfigText, raw: &RawLedger) -> Result<Self, ConfigError> {
        let retention_days = match &raw.retention_days {
            None => RETENTION_DAYS,
            Some(days) => u32::try_from(**days)
                .ok()
                .filter(|days| (1..=MAX_RETENTION_DAYS).contains(days))
                .ok_or_else(|| {
                text.error_at(days.span(), format!("retention_days must be 1 to {MAX_RETENTION_DAYS}"))
            })?,
        };
        Ok(Self { enabled: raw.enabled.unwrap_or(true), retention_days })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Env, PlainError, tests};

    fn parse(content: &str) -> Result<LedgerConfig, PlainError> {
        tests::parse(content, &Env::default()).map(|config| config.ledger)
    }

    #[test]
    fn retention_is_a_week_by_default() {
        let ledger = |enabled, retention_days| Ok(LedgerConfig { enabled, retention_days });
        assert_eq!(parse(""), ledger(true, 7));
        assert_eq!(parse("[ledger]\nretention_days = 30"), ledger(true, 30));
        assert_eq!(parse("[ledger]\nenabled = false"), ledger(false, 7));
    }

    #[test]
    fn errors_name_the_location_and_the_range() {
        for days in ["0", "3651"] {
            let refused = parse(&format!("[ledger]\nretention_days = {days}")).expect_err("refused");
            assert!(refused.ends_with(":2:18: retention_days must be 1 to 3650"), "{refused}");
        }
        let unknown = parse("[ledger]\nretention_day = 1").expect_err("refused");
        assert!(
            unknown.contains(":2:1: unknown key 'retention_day'. Did you mean 'retention_days'?"),
            "{unknown}"
        );
    }
}

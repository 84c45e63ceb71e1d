//! `[ledger]` and `[audit]`, as written and validated.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ConfigText, TextValue};

/// Default retention of single calls, in days.
const RETENTION_DAYS: u32 = 7;

/// Maximum retention: ten years. Daily totals of the ledger are stored permanently.
const MAX_RETENTION_DAYS: u32 = 3_650;

/// Calls and their statistics. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Ledger {
    /// Whether calls are recorded, true by default.
    pub(crate) enabled: Option<bool>,
    /// Days to store single calls, 1 to 3650, 7 by default. Daily totals are stored permanently.
    pub(crate) retention_days: Option<TextValue<u64>>,
    /// Whether single calls are stored with arguments and reply, false by default. Needs the audit, which records who reads
    /// them. Secrets are redacted, texts above 64 KiB left out, and the newest 256 MiB stay.
    pub(crate) bodies: Option<TextValue<bool>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LedgerConfig {
    pub(crate) enabled: bool,
    pub(crate) retention_days: u32,
    pub(crate) bodies: bool,
}

impl LedgerConfig {
    /// Validates the section. `audits` is true if the audit is on.
    pub(super) fn validate(text: &ConfigText, raw: &Ledger, audits: bool) -> Result<Self, ConfigError> {
        let mut retention_days = RETENTION_DAYS;
        if let Some(days) = &raw.retention_days {
            let allowed = u32::try_from(**days).ok().filter(|days| (1..=MAX_RETENTION_DAYS).contains(days));
            let Some(allowed) = allowed else {
                bail_at!(text, days, "retention_days must be 1 to {MAX_RETENTION_DAYS}");
            };
            retention_days = allowed;
        }
        let bodies = raw.bodies.as_ref().filter(|bodies| ***bodies);
        if let (Some(bodies), false) = (bodies, audits) {
            bail_at!(text, bodies, "bodies needs the audit: set enabled = true under [audit]");
        }
        Ok(Self { enabled: raw.enabled.unwrap_or(true), retention_days, bodies: bodies.is_some() })
    }
}

/// Default retention of entries of the audit, in days.
const KEEP_DAYS: u32 = 365;

/// The audit: an append-only record of calls that change something, of refusals, and of changes to the host.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Audit {
    /// Whether calls are recorded: by default only if callers sign in.
    pub(crate) enabled: Option<bool>,
    /// How long entries stay, "365 d" by default, "1 d" to "3650 d".
    pub(crate) keep: Option<TextValue<String>>,
    /// Whether calls that only read are recorded too. Refused ones always are.
    pub(crate) reads: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AuditConfig {
    /// `None` if the file does not say.
    pub(crate) enabled: Option<bool>,
    pub(crate) keep_days: u32,
    pub(crate) reads: bool,
}

impl AuditConfig {
    pub(super) fn validate(text: &ConfigText, raw: &Audit) -> Result<Self, ConfigError> {
        let keep_days = match &raw.keep {
            None => KEEP_DAYS,
            Some(keep) => text.at(keep, days(keep))?,
        };
        Ok(Self { enabled: raw.enabled, keep_days, reads: raw.reads })
    }

    /// Whether calls are recorded. `auth` is true if callers sign in.
    pub(crate) fn is_on(&self, auth: bool) -> bool {
        self.enabled.unwrap_or(auth)
    }
}

fn days(text: &str) -> Result<u32, String> {
    let number = text.trim().strip_suffix('d').and_then(|number| number.trim().parse().ok());
    number.filter(|days| (1..=MAX_RETENTION_DAYS).contains(days)).ok_or_else(|| {
        format!(
            "invalid keep '{text}': expected \"1 d\" to \"{MAX_RETENTION_DAYS} d\", for example \"365 d\""
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Env, PlainError, tests};

    fn parse(content: &str) -> Result<Config, PlainError> {
        tests::parse(content, &Env::default())
    }

    #[test]
    fn the_ledger_retains_calls_for_a_week_by_default() {
        for (content, enabled, retention_days) in [
            ("", true, 7),
            ("[ledger]\nretention_days = 30", true, 30),
            ("[ledger]\nenabled = false", false, 7),
        ] {
            let ledger = parse(content).expect("valid").ledger;
            assert_eq!(ledger, LedgerConfig { enabled, retention_days, bodies: false });
        }
    }

    #[test]
    fn the_audit_is_on_if_callers_sign_in_unless_the_file_says_otherwise() {
        for (content, on_without_auth, on_with_auth, keep_days, reads) in [
            ("", false, true, 365, false),
            ("[audit]\nenabled = true\nkeep = \"30d\"\nreads = true", true, true, 30, true),
            ("[audit]\nenabled = false", false, false, 365, false),
        ] {
            let audit = parse(content).expect("valid").audit;
            assert_eq!((audit.is_on(false), audit.is_on(true)), (on_without_auth, on_with_auth));
            assert_eq!((audit.keep_days, audit.reads), (keep_days, reads));
        }
    }

    #[test]
    fn errors_name_the_location_and_the_range() {
        let cases = [
            ("[ledger]\nretention_days = 0", ":2:18: retention_days must be 1 to 3650"),
            ("[ledger]\nbodies = true", ":2:10: bodies needs the audit: set enabled = true under [audit]"),
            ("[ledger]\nretention_days = 3651", ":2:18: retention_days must be 1 to 3650"),
            (
                "[ledger]\nretention_day = 1",
                ":2:1: unknown key 'retention_day'. Did you mean 'retention_days'?",
            ),
            ("[audit]\nkeep = \"0 d\"", ":2:8: invalid keep '0 d': expected \"1 d\""),
            ("[audit]\nkeep = \"3651d\"", ":2:8: invalid keep '3651d': expected \"1 d\""),
            ("[audit]\nkeep = \"1 h\"", ":2:8: invalid keep '1 h': expected \"1 d\""),
            ("[audit]\nkeep = \"\"", ":2:8: invalid keep '': expected \"1 d\""),
        ];
        tests::assert_refused("", &cases);
    }
}

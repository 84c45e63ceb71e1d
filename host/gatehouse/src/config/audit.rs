//! `[audit]`, as written and validated.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ConfigText, Spanned};

/// Default retention of entries, in days.
const KEEP_DAYS: u32 = 365;

/// Maximum retention: ten years.
const MAX_KEEP_DAYS: u32 = 3_650;

/// The audit: an append-only record of calls that change something, of refusals, and of changes to the host.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Audit")]
pub(crate) struct RawAudit {
    /// Whether calls are recorded: by default only if callers sign in.
    pub(crate) enabled: Option<bool>,
    /// How long entries stay, "365 d" by default, "1 d" to "3650 d".
    pub(crate) keep: Option<Spanned<String>>,
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
    pub(super) fn validate(text: &ConfigText, raw: &RawAudit) -> Result<Self, ConfigError> {
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
    number.filter(|days| (1..=MAX_KEEP_DAYS).contains(days)).ok_or_else(|| {
        format!("invalid keep '{text}': expected \"1 d\" to \"{MAX_KEEP_DAYS} d\", for example \"365 d\"")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Env, PlainError, tests};

    fn parse(content: &str) -> Result<AuditConfig, PlainError> {
        tests::parse(content, &Env::default()).map(|config| config.audit)
    }

    #[test]
    fn the_audit_is_on_if_callers_sign_in_unless_the_file_says_otherwise() {
        let audit = parse("").expect("valid");
        assert_eq!(
            (audit.is_on(false), audit.is_on(true), audit.keep_days, audit.reads),
            (false, true, 365, false)
        );
        let audit = parse("[audit]\nenabled = true\nkeep = \"30d\"\nreads = true").expect("valid");
        assert_eq!((audit.is_on(false), audit.keep_days, audit.reads), (true, 30, true));
        assert!(!parse("[audit]\nenabled = false").expect("valid").is_on(true));
    }

    #[test]
    fn errors_name_the_location_and_the_range() {
        for keep in ["0 d", "3651d", "1 h", ""] {
            let refused = parse(&format!("[audit]\nkeep = \"{keep}\"")).expect_err("refused");
            assert!(refused.contains(&format!(":2:8: invalid keep '{keep}': expected \"1 d\"")), "{refused}");
        }
    }
}

//! Limits, validated: `[gates.<name>] limits`, those on disk (`cache_size` under `[host]`, `max_bytes` under
//! `[artifacts]`), and `[quotas.NAME]`.

use std::collections::BTreeMap;

use gatehouse_core::{caller_patterns::CallerPatterns, quota::QuotaRule};
use gatehouse_sandbox::{SandboxLimits, format_bytes, parse_bytes, parse_duration};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ConfigText, TextValue, is_gate_name, raw::GateLimits};

/// Default limit: room for forty interpreters, thousands of small gates, or ten thousand results.
const DEFAULT_DISK_SIZE: u64 = 1 << 30;

/// Limits on what callers use. Each caller that matches has its own share, and every quota that matches must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Quota {
    /// Callers: "group:NAME", or globs over the names of principals, such as "key:ci-*" or "*".
    #[schemars(with = "Vec<String>")]
    who: Option<TextValue<Vec<String>>>,
    /// Calls per "minute", "hour" or "day", those of tools included: calls = "1000 per hour".
    calls: Option<TextValue<String>>,
    /// Tokens that reach the client or that models use, estimated as bytes / 4: tokens = "2000000 per day".
    tokens: Option<TextValue<String>>,
    /// Maximum concurrent calls, 1 to 10000.
    concurrency: Option<TextValue<u32>>,
    /// Maximum bytes of artifacts and of the kv of the caller, such as "100 MiB".
    stored: Option<TextValue<String>>,
}

const MAX_CONCURRENCY: u32 = 10_000;

pub(super) fn validate(text: &ConfigText, raw: &GateLimits) -> Result<SandboxLimits, ConfigError> {
    let sizes = [
        ("memory", &raw.memory),
        ("copy", &raw.copy),
        ("output", &raw.output),
        ("kv", &raw.kv),
        ("folder", &raw.folder),
    ];
    let numbers = [
        ("concurrency", &raw.concurrency),
        ("http_requests", &raw.http_requests),
        ("log_lines", &raw.log_lines),
        ("model_calls", &raw.model_calls),
        ("calls", &raw.calls),
        ("table_elements", &raw.table_elements),
    ];
    let mut limits = SandboxLimits::default();
    if let Some(time) = &raw.time {
        limits = text.at(time, parse_duration(time).and_then(|time| limits.with_time(time)))?;
    }
    for (name, given) in sizes {
        let Some(size) = given else { continue };
        limits = text.at(size, parse_bytes(size).and_then(|bytes| limits.with_limit(name, bytes)))?;
    }
    for (name, given) in numbers {
        let Some(number) = given else { continue };
        limits = text.at(number, limits.with_limit(name, **number))?;
    }
    Ok(limits)
}

/// Parses a limit on disk, in bytes. `key` is its name in messages.
pub(super) fn disk_size(
    text: &ConfigText,
    key: &str,
    given: Option<&TextValue<String>>,
) -> Result<u64, ConfigError> {
    let Some(given) = given else { return Ok(DEFAULT_DISK_SIZE) };
    let bytes = text.at(given, parse_bytes(given))? as u64;
    let (least, most) = (1 << 20, 1 << 40);
    if !(least..=most).contains(&bytes) {
        bail_at!(text, given, "{key} must be from {} to {}", format_bytes(least), format_bytes(most));
    }
    Ok(bytes)
}

pub(super) fn quotas(
    text: &ConfigText,
    raw: BTreeMap<TextValue<String>, Quota>,
) -> Result<Vec<QuotaRule>, ConfigError> {
    raw.into_iter().map(|(name, quota)| quota_rule(text, &name, quota)).collect()
}

fn quota_rule(text: &ConfigText, name: &TextValue<String>, raw: Quota) -> Result<QuotaRule, ConfigError> {
    let Quota { who, calls, tokens, concurrency, stored } = raw;
    if !is_gate_name(name) {
        bail_at!(text, name, "quota '{name}' needs a name of letters, digits, _ and -, at most 64");
    }
    let Some(who) = who else {
        bail_at!(text, name, "quota '{name}' names no callers; add who = [\"*\"] for everyone");
    };
    if calls.is_none() && tokens.is_none() && concurrency.is_none() && stored.is_none() {
        bail_at!(text, name, "quota '{name}' limits nothing; add calls, tokens, concurrency or stored");
    }
    if let Some(limit) = concurrency.as_ref().filter(|limit| !(1..=MAX_CONCURRENCY).contains(&***limit)) {
        bail_at!(text, limit, "concurrency must be 1 to {MAX_CONCURRENCY}");
    }
    let allowance =
        |amount: Option<TextValue<String>>| amount.map(|amount| text.at(&amount, amount.parse())).transpose();
    let stored = stored.map(|size| text.at(&size, parse_bytes(&size))).transpose()?;
    Ok(QuotaRule {
        who: text.at(&who, CallerPatterns::new(who.to_vec()))?,
        calls: allowance(calls)?,
        tokens: allowance(tokens)?,
        concurrency: concurrency.as_deref().copied(),
        stored: stored.map(|bytes| bytes as u64),
        name: name.as_str().into(),
    })
}

#[cfg(test)]
mod tests {
    use gatehouse_core::quota::{QuotaAllowance, QuotaPeriod};

    use crate::config::{Env, tests};

    #[test]
    fn quotas_have_callers_and_limits() {
        let quotas = tests::parse(
            "[quotas.people]\nwho = [\"group:dev\", \"okta:*\"]\ncalls = \"1000 per hour\"\ntokens = \"5 per day\"\n\
             concurrency = 8\nstored = \"100 MiB\"\n[quotas.ci]\nwho = [\"key:ci-*\"]\ncalls = \"2 per minute\"",
            &Env::default(),
        );
        let quotas = quotas.expect("valid").quotas;
        let names: Vec<&str> = quotas.iter().map(|quota| &*quota.name).collect();
        assert_eq!(names, ["ci", "people"]);
        let people = &quotas[1];
        assert_eq!(people.who.entries(), ["group:dev", "okta:*"]);
        assert_eq!(people.calls, Some(QuotaAllowance { amount: 1_000, period: QuotaPeriod::Hour }));
        assert_eq!((people.concurrency, people.stored), (Some(8), Some(100 << 20)));
        assert_eq!(quotas[0].tokens, None);
    }

    #[test]
    fn mistakes_have_their_place() {
        let cases = [
            ("calls = \"1 per day\"", ":1:9: quota 'a' names no callers"),
            ("who = [\"*\"]\n", ":1:9: quota 'a' limits nothing"),
            (
                "who = [\"*\"]\ncalls = \"many\"",
                ":3:9: invalid quota 'many': expected for example \"1000 per hour\"",
            ),
            ("who = [\"*\"]\nconcurrency = 0", ":3:15: concurrency must be 1 to 10000"),
            ("who = [\"[\"]\ncalls = \"1 per day\"", ":2:7: invalid pattern '['"),
            ("who = [\"*\"]\ncall = 1", "Did you mean 'calls'?"),
        ];
        tests::assert_refused("[quotas.a]\n", &cases);
        tests::assert_refused("[quotas.\"a b\"]\n", &[("who = []", "needs a name of letters")]);
    }
}

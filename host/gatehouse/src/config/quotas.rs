//! `[quotas.NAME]`, as written and validated.

use std::collections::BTreeMap;

use gatehouse_core::{caller_patterns::CallerPatterns, quota::QuotaRule};
use gatehouse_sandbox::parse_bytes;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

use super::{ConfigError, error::ConfigText};

/// Limits on what callers use. Each caller that matches has its own share, and every quota that matches must hold.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Quota")]
pub(crate) struct RawQuota {
    /// Callers: "group:NAME", or globs over the names of principals, such as "key:ci-*" or "*".
    #[schemars(with = "Vec<String>")]
    pub(crate) who: Option<Spanned<Vec<String>>>,
    /// Calls per "minute", "hour" or "day", those of tools included: calls = "1000 per hour".
    #[schemars(with = "Option<String>")]
    pub(crate) calls: Option<Spanned<String>>,
    /// Tokens that reach the client or that models use, estimated as bytes / 4: tokens = "2000000 per day".
    #[schemars(with = "Option<String>")]
    pub(crate) tokens: Option<Spanned<String>>,
    /// Maximum concurrent calls, 1 to 10000.
    #[schemars(with = "Option<u32>")]
    pub(crate) concurrency: Option<Spanned<u32>>,
    /// Maximum bytes of artifacts and of the kv of the caller, such as "100 MiB".
    #[schemars(with = "Option<String>")]
    pub(crate) stored: Option<Spanned<String>>,
}

const MAX_CONCURRENCY: u32 = 10_000;

pub(super) fn validate(
    text: &ConfigText,
    raw: BTreeMap<Spanned<String>, RawQuota>,
) -> Result<Vec<QuotaRule>, ConfigError> {
    raw.into_iter().map(|(name, quota)| rule(text, &name, quota)).collect()
}

fn rule(text: &ConfigText, name: &Spanned<String>, raw: RawQuota) -> Result<QuotaRule, ConfigError> {
    let RawQuota { who, calls, tokens, concurrency, stored } = raw;
    let at_name = |why: &str| text.error_at(name.span(), format!("quota '{}' {why}", name.get_ref()));
    if !super::is_gate_name(name.get_ref()) {
        return Err(at_name("needs a name of letters, digits, _ and -, at most 64"));
    }
    let Some(who) = who else {
        return Err(at_name("names no callers; add who = [\"*\"] for everyone"));
    };
    if calls.is_none() && tokens.is_none() && concurrency.is_none() && stored.is_none() {
        return Err(at_name("limits nothing; add calls, tokens, concurrency or stored"));
    }
    let allowance = |given: Option<Spanned<String>>| {
        given.map(|given| text.at(&given, given.get_ref().parse())).transpose()
    };
    let concurrency = concurrency
        .map(|most| {
            let in_range = (1..=MAX_CONCURRENCY).contains(most.get_ref()).then_some(*most.get_ref());
            text.at(&most, in_range.ok_or(format!("concurrency must be 1 to {MAX_CONCURRENCY}")))
        })
        .transpose()?;
    let stored = stored.map(|size| text.at(&size, parse_bytes(size.get_ref()))).transpose()?;
    Ok(QuotaRule {
        who: text.at(&who, CallerPatterns::new(who.get_ref().clone()))?,
        calls: allowance(calls)?,
        tokens: allowance(tokens)?,
        concurrency,
        stored: stored.map(|bytes| bytes as u64),
        name: name.get_ref().as_str().into(),
    })
}

#[cfg(test)]
mod tests {
    use gatehouse_core::quota::{QuotaAllowance, QuotaPeriod};

    use super::*;
    use crate::config::{Env, PlainError, tests};

    fn parse(content: &str) -> Result<Vec<QuotaRule>, PlainError> {
        tests::parse(content, &Env::default()).map(|config| config.quotas)
    }

    #[test]
    fn quotas_have_callers_and_limits() {
        let quotas = parse(
            "[quotas.people]\nwho = [\"group:dev\", \"okta:*\"]\ncalls = \"1000 per hour\"\ntokens = \"5 per day\"\n\
             concurrency = 8\nstored = \"100 MiB\"\n[quotas.ci]\nwho = [\"key:ci-*\"]\ncalls = \"2 per minute\"",
        );
        let quotas = quotas.expect("valid");
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
        let error = |content: &str| parse(content).expect_err("refused");
        let who = "[quotas.a]\nwho = [\"*\"]\n";
        assert!(error("[quotas.a]\ncalls = \"1 per day\"").contains(":1:9: quota 'a' names no callers"));
        assert!(error(who).contains(":1:9: quota 'a' limits nothing"));
        let calls = error(&format!("{who}calls = \"many\""));
        assert!(
            calls.contains(":3:9: invalid quota 'many': expected for example \"1000 per hour\""),
            "{calls}"
        );
        let none = error(&format!("{who}concurrency = 0"));
        assert!(none.contains(":3:15: concurrency must be 1 to 10000"), "{none}");
        assert!(
            error("[quotas.a]\nwho = [\"[\"]\ncalls = \"1 per day\"").contains(":2:7: invalid pattern '['")
        );
        assert!(error(&format!("{who}call = 1")).contains("Did you mean 'calls'?"));
        assert!(error("[quotas.\"a b\"]\nwho = []").contains("needs a name of letters"));
    }
}

//! Use of quotas by principal, and the calls that they refused.

use std::{collections::BTreeMap, fmt};

use gatehouse_core::{
    Fault,
    ports::{Clock as _, quota::WindowUsage},
    quota::{QuotaAllowance, QuotaPeriod},
    utc_time::rfc3339,
};
use serde::{Serialize, Serializer};

use super::{Composition, SystemClock};

/// Use of one quota by one principal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct QuotaUse {
    pub(crate) principal: String,
    pub(crate) quota: String,
    /// `None` if the quota does not limit calls.
    pub(crate) calls: Option<AllowanceUse>,
    pub(crate) tokens: Option<AllowanceUse>,
    /// Calls that the quota refused since midnight UTC. `None` if no audit counts them.
    pub(crate) refused_today: Option<u64>,
}

/// Use of an allowance in its current window.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct AllowanceUse {
    pub(crate) used: u64,
    #[serde(rename = "of")]
    pub(crate) amount: u64,
    #[serde(serialize_with = "period_word")]
    pub(crate) per: QuotaPeriod,
    /// End of the window, in milliseconds since 1970.
    pub(crate) resets: u64,
}

fn period_word<S: Serializer>(period: &QuotaPeriod, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(period.as_str())
}

impl AllowanceUse {
    fn new(QuotaAllowance { amount, period: per }: QuotaAllowance, stored: WindowUsage, now: u64) -> Self {
        let start = per.window_start(now);
        // The stored window can be over.
        let used = if stored.start == start { stored.used } else { 0 };
        Self { used, amount, per, resets: start + per.millis() }
    }

    fn percent(&self) -> u64 {
        self.used.saturating_mul(100) / self.amount
    }

    /// Returns `3 of 10 per day`. `unit` follows the amount, after a space.
    pub(crate) fn text(&self, unit: &str) -> String {
        format!("{} of {}{unit} per {}", self.used, self.amount, self.per.as_str())
    }
}

impl QuotaUse {
    /// Returns the largest used share of an allowance in percent.
    pub(crate) fn percent(&self) -> u64 {
        self.most_used().map_or(0, AllowanceUse::percent)
    }

    /// Returns the time at which the window of its most used allowance ends.
    pub(crate) fn resets(&self) -> Option<String> {
        self.most_used().map(|allowance| rfc3339(allowance.resets))
    }

    fn most_used(&self) -> Option<&AllowanceUse> {
        self.calls.iter().chain(&self.tokens).max_by_key(|allowance| allowance.percent())
    }
}

impl fmt::Display for QuotaUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [(" calls", &self.calls), (" tokens", &self.tokens)];
        let parts = parts.into_iter().filter_map(|(unit, allowance)| Some(allowance.as_ref()?.text(unit)));
        let refused = self.refused_today.filter(|refused| *refused > 0);
        let refused = refused.map(|refused| format!("{refused} refused today"));
        f.write_str(&parts.chain(refused).collect::<Vec<_>>().join(", "))
    }
}

impl Composition {
    /// Returns the use of all configured quotas, by principal and name of the quota. A host that runs stores it once a
    /// second.
    pub(crate) async fn quota_uses(&self) -> Result<Vec<QuotaUse>, Fault> {
        let audit = &self.stores.audit;
        if !audit.exists().await? {
            return Ok(Vec::new());
        }
        let now = SystemClock.now_ms();
        let midnight = QuotaPeriod::Day.window_start(now);
        let refusals = audit.quota_refusals(midnight.cast_signed()).await?.into_iter();
        let refusals: BTreeMap<(String, String), u64> =
            refusals.map(|refusal| ((refusal.principal, refusal.quota), refusal.calls)).collect();
        let stored = audit.quota_usage().await?.into_iter().map(|stored| {
            ((stored.principal.as_str().to_owned(), stored.quota.to_string()), (stored.calls, stored.tokens))
        });
        let mut windows: BTreeMap<(String, String), (WindowUsage, WindowUsage)> = stored.collect();
        // A quota that only limits concurrent calls stores no use.
        for key in refusals.keys() {
            windows.entry(key.clone()).or_default();
        }
        let mut uses = Vec::new();
        for ((principal, quota), (calls, tokens)) in windows {
            let Some(rule) = self.config.quotas.iter().find(|rule| *rule.name == *quota) else { continue };
            let refused = refusals.get(&(principal.clone(), quota.clone())).copied().unwrap_or_default();
            uses.push(QuotaUse {
                calls: rule.calls.map(|allowance| AllowanceUse::new(allowance, calls, now)),
                tokens: rule.tokens.map(|allowance| AllowanceUse::new(allowance, tokens, now)),
                refused_today: self.stores.audits.then_some(refused),
                principal,
                quota,
            });
        }
        Ok(uses)
    }
}

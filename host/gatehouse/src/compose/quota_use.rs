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
}

impl fmt::Display for AllowanceUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} per {}", self.used, self.amount, self.per.as_str())
    }
}

impl QuotaUse {
    /// Returns the largest used share of an allowance in percent.
    pub(crate) fn percent(&self) -> u64 {
        let allowances = self.calls.iter().chain(&self.tokens);
        allowances.map(|allowance| allowance.used.saturating_mul(100) / allowance.amount).max().unwrap_or(0)
    }

    /// Returns the time at which the first of its windows ends.
    pub(crate) fn resets(&self) -> Option<String> {
        self.calls.iter().chain(&self.tokens).map(|allowance| allowance.resets).min().map(rfc3339)
    }
}

impl fmt::Display for QuotaUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("calls", &self.calls), ("tokens", &self.tokens)];
        let parts = parts
            .into_iter()
            .filter_map(|(unit, allowance)| Some(format!("{unit}: {}", allowance.as_ref()?)));
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
        if !audit.path().exists() {
            return Ok(Vec::new());
        }
        let now = SystemClock.now_ms();
        let midnight = QuotaPeriod::Day.window_start(now);
        let mut refusals: BTreeMap<(String, String), u64> = BTreeMap::new();
        for refusal in audit.quota_refusals(midnight.cast_signed()).await? {
            *refusals.entry((refusal.principal, refusal.quota)).or_default() += refusal.calls;
        }
        let mut uses = Vec::new();
        for stored in audit.quota_usage().await? {
            let Some(rule) = self.config.quotas.iter().find(|rule| rule.name == stored.quota) else {
                continue;
            };
            let (principal, quota) = (stored.principal.as_str().to_owned(), stored.quota.to_string());
            let refused = refusals.get(&(principal.clone(), quota.clone())).copied().unwrap_or_default();
            uses.push(QuotaUse {
                calls: rule.calls.map(|allowance| AllowanceUse::new(allowance, stored.calls, now)),
                tokens: rule.tokens.map(|allowance| AllowanceUse::new(allowance, stored.tokens, now)),
                refused_today: self.stores.audits.then_some(refused),
                principal,
                quota,
            });
        }
        uses.sort_by(|a, b| (&a.principal, &a.quota).cmp(&(&b.principal, &b.quota)));
        Ok(uses)
    }
}

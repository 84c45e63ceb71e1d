//! Parts of `gatehouse status`: one that can fail independently, the ledger, what servers list in vain, and the savings
//! of filters.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use gatehouse_core::{Fault, ports::ledger::MetricsFilter, source::OmittedItems};
use serde::Serialize;

use super::PlainError;
use crate::compose::{Composition, GateCounts};

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// Counter of the tokens that clients did not receive. With `.` and the number of days since 1970, it covers one day.
const SAVED: &str = "tokens_saved";

#[derive(Serialize)]
pub(super) struct StatusPart<T> {
    ok: bool,
    #[serde(flatten)]
    works: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<PlainError>,
}

impl<T, E: Into<PlainError>> From<Result<T, E>> for StatusPart<T> {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(works) => Self { ok: true, works: Some(works), error: None },
            Err(error) => Self { ok: false, works: None, error: Some(error.into()) },
        }
    }
}

impl<T: fmt::Display> fmt::Display for StatusPart<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.works, &self.error) {
            (Some(works), _) => works.fmt(f),
            (None, why) => write!(f, "broken: {}", why.as_deref().unwrap_or_default()),
        }
    }
}

impl<T> StatusPart<T> {
    pub(super) fn works(&self) -> Option<&T> {
        self.works.as_ref()
    }
}

impl<T: fmt::Display> StatusPart<T> {
    pub(super) fn write_line(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        match &self.works {
            Some(works) => write!(f, "{name}  {works}"),
            None => write!(f, "{name}  down: {}", self.error.as_deref().unwrap_or_default()),
        }
    }
}

#[derive(Serialize)]
pub(super) struct LedgerStatus {
    enabled: bool,
    address: PathBuf,
    retention_days: u32,
    tools: usize,
    calls: u64,
}

impl LedgerStatus {
    pub(super) async fn read(composition: &Composition) -> Result<Self, Fault> {
        let config = &composition.config;
        let (retention_days, address) = (config.ledger.retention_days, config.state.join("ledger.db"));
        let metrics = composition.stores.metrics(&MetricsFilter::default()).await?;
        Ok(Self {
            enabled: config.ledger.enabled,
            address,
            retention_days,
            tools: metrics.len(),
            calls: metrics.iter().map(|one| one.calls).sum(),
        })
    }
}

impl fmt::Display for LedgerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { enabled, address, retention_days, tools, calls } = self;
        if !enabled {
            return write!(f, "off: enabled = false under [ledger] in presets.toml");
        }
        write!(
            f,
            "{calls} calls of {tools} tools in {}, each stored for {retention_days} days",
            address.display()
        )
    }
}

/// What was left out of the last listing of servers.
#[derive(Serialize)]
pub(super) struct OmittedByServer {
    pub(super) servers: BTreeMap<String, OmittedItems>,
}

impl fmt::Display for OmittedByServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> =
            self.servers.iter().map(|(server, omitted)| format!("{server}: {omitted}")).collect();
        f.write_str(&lines.join("\n           "))
    }
}

/// Savings of filters, computed from the counters of gates: tokens that clients did not receive, and reused summaries.
#[derive(Serialize)]
pub(super) struct FilterSavings {
    tokens_today: i64,
    tokens: i64,
    /// Summaries that were reused without a language model.
    cache_hits: i64,
    /// Summaries in total: reused ones, and those written by a model or its fallback.
    cache_lookups: i64,
}

impl FilterSavings {
    /// Removes the savings from the counters of a gate. `None` if the gate does not count them.
    pub(super) fn take(counts: &mut GateCounts, now_ms: u64) -> Option<Self> {
        let tokens = counts.remove(SAVED)?;
        let tokens_today = counts.get(&format!("{SAVED}.{}", now_ms / DAY)).copied().unwrap_or_default();
        counts.retain(|name, _| !name.strip_prefix(SAVED).is_some_and(|day| day.starts_with('.')));
        let count = |name: &str| counts.get(name).copied().unwrap_or_default();
        let cache_hits = count("hit.exact") + count("hit.semantic");
        Some(Self { tokens_today, tokens, cache_hits, cache_lookups: cache_hits + count("written") })
    }
}

impl fmt::Display for FilterSavings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tokens today, {} in all", self.tokens_today, self.tokens)?;
        match self.cache_lookups {
            0 => Ok(()),
            lookups => write!(f, "; {} % of {lookups} summaries used again", self.cache_hits * 100 / lookups),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savings_are_those_of_today_and_of_all_days() {
        let counts = [
            ("tokens_saved", 900),
            ("tokens_saved.1", 200),
            ("tokens_saved.2", 70),
            ("hit.exact", 1),
            ("written", 3),
        ];
        let mut counts: GateCounts = counts.map(|(name, number)| (name.to_owned(), number)).into();
        let savings = FilterSavings::take(&mut counts, 2 * DAY + 5).expect("savings");
        assert_eq!(savings.to_string(), "70 tokens today, 900 in all; 25 % of 4 summaries used again");
        assert_eq!(counts.keys().collect::<Vec<_>>(), ["hit.exact", "written"]);
        assert!(FilterSavings::take(&mut counts, 0).is_none());
    }
}

//! Parts of `gatehouse status`, each of which can fail independently, and the savings of filters.

use std::{cmp::Reverse, collections::BTreeMap, fmt};

use gatehouse_core::{Fault, ports::ledger::MetricsFilter, source::OmittedItems};
use gatehouse_stores::{EmbeddingHealth, StoreHealth};
use serde::Serialize;
use serde_json::{Value, json};

use super::{PlainError, cache::megabytes};
use crate::compose::{Composition, GateCounts, QuotaUse};

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// Start of further lines of a part.
const INDENT: &str = "\n           ";

/// Number of lines about quotas, those with the most refusals first.
const MAX_QUOTA_LINES: usize = 5;

/// Use in percent at which a quota is shown, the same at which its caller gets a note.
const MIN_QUOTA_PERCENT: u64 = 80;

/// Counter of the tokens that clients did not receive. With `.` and the number of days since 1970, it covers one day.
const SAVED: &str = "tokens_saved";

#[derive(Serialize)]
pub(super) struct StatusPart {
    ok: bool,
    #[serde(flatten)]
    report: Value,
    /// The same for people.
    #[serde(skip)]
    pub(super) text: String,
}

impl StatusPart {
    /// Describes what works by JSON and text. `broken` is the word before the reason of a failure.
    pub(super) fn new<T>(
        part: Result<T, impl Into<PlainError>>,
        broken: &str,
        describe: impl FnOnce(T) -> (Value, String),
    ) -> Self {
        match part.map(describe) {
            Ok((report, text)) => Self { ok: true, report, text },
            Err(reason) => {
                let reason: PlainError = reason.into();
                Self { ok: false, report: json!({"error": reason}), text: format!("{broken}: {reason}") }
            }
        }
    }

    pub(super) fn preset(tools: Result<usize, PlainError>, warnings: Vec<String>) -> Self {
        Self::new(tools, "broken", |tools| {
            let text = format!("{tools} tools") + &lines(&warnings);
            let mut report = json!({"tools": tools});
            if !warnings.is_empty() {
                report["warnings"] = json!(warnings);
            }
            (report, text)
        })
    }

    pub(super) fn knowledge(health: Result<StoreHealth, Fault>) -> Self {
        Self::new(health, "down", |StoreHealth { engine, address, items, embedding, .. }| {
            let text = format!("{engine}: {items} pages in {address}");
            let (meaning, vectors) = vectors(embedding, "page");
            let report = json!({"engine": engine, "address": address, "pages": items, "meaning": meaning});
            (report, text + &vectors)
        })
    }

    pub(super) fn documents(health: Result<StoreHealth, Fault>) -> Self {
        Self::new(health, "down", |health| {
            let StoreHealth { engine, address, repositories, items, embedding, notes, .. } = health;
            let (meaning, vectors) = vectors(embedding, "part");
            let text = format!("{engine}: {items} documents of {repositories} repositories in {address}");
            let report = json!({"engine": engine, "address": address, "repositories": repositories, "files": items,
                                "meaning": meaning, "notes": notes});
            (report, text + &vectors + &lines(&notes))
        })
    }

    pub(super) fn artifacts(health: Result<StoreHealth, Fault>, max_bytes: u64) -> Self {
        Self::new(health, "down", |StoreHealth { engine, address, items, bytes, embedding, .. }| {
            let (meaning, vectors) = vectors(embedding, "summary");
            let [used, most] = [bytes, max_bytes].map(megabytes);
            let text = format!("{engine}: {items} artifacts, {used} of at most {most}, in {address}");
            let report = json!({"engine": engine, "address": address, "artifacts": items, "bytes": bytes,
                                "max_bytes": max_bytes, "meaning": meaning});
            (report, text + &vectors)
        })
    }

    pub(super) async fn ledger(composition: &Composition) -> Self {
        let config = &composition.config;
        let (enabled, days) = (config.ledger.enabled, config.ledger.retention_days);
        let address = config.state.join("ledger.db").display().to_string();
        Self::new(composition.stores.metrics(&MetricsFilter::default()).await, "down", |metrics| {
            let (tools, calls) = (metrics.len(), metrics.iter().map(|entry| entry.calls).sum::<u64>());
            let report = json!({"enabled": enabled, "address": address, "retention_days": days, "tools": tools,
                                "calls": calls});
            let text = match enabled {
                true => format!("{calls} calls of {tools} tools in {address}, each stored for {days} days"),
                false => "off: enabled = false under [ledger] in presets.toml".into(),
            };
            (report, text)
        })
    }

    /// Describes the quotas that are nearly used up or refused calls today, those with the most refusals first. The text is
    /// empty if there are none.
    pub(super) fn quotas(uses: Result<Vec<QuotaUse>, Fault>) -> Self {
        Self::new(uses, "down", |mut uses| {
            let report = json!({"uses": uses});
            uses.retain(|used| used.refused_today > Some(0) || used.percent() >= MIN_QUOTA_PERCENT);
            uses.sort_by_key(|used| Reverse((used.refused_today, used.percent())));
            let mut text: Vec<String> = uses
                .iter()
                .take(MAX_QUOTA_LINES)
                .map(|used| format!("{}, {}: {used}", used.quota, used.principal))
                .collect();
            if uses.len() > MAX_QUOTA_LINES {
                text.push(format!("and {} more; run `gatehouse quotas`", uses.len() - MAX_QUOTA_LINES));
            }
            (report, text.join(INDENT))
        })
    }

    /// Describes what was left out of the last listing of servers. The text is empty if nothing was.
    pub(super) fn omitted(omitted: Result<BTreeMap<String, OmittedItems>, Fault>) -> Self {
        Self::new(omitted, "down", |servers| {
            let text: Vec<_> =
                servers.iter().map(|(server, omitted)| format!("{server}: {omitted}")).collect();
            (json!({"servers": servers}), text.join(INDENT))
        })
    }
}

pub(super) fn lines(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{INDENT}{text}")).collect()
}

/// Describes the progress of vectors by JSON and text. `what` names an item with a vector.
fn vectors(embedding: Option<EmbeddingHealth>, what: &str) -> (Value, String) {
    let Some(EmbeddingHealth { model, waiting, failing }) = embedding else {
        return (Value::Null, String::new());
    };
    let progress = match waiting {
        0 => format!("every {what} has a vector"),
        waiting => format!("{waiting} vectors pending"),
    };
    let reason = failing.iter().map(|reason| format!(": {reason}")).collect::<String>();
    let report = json!({"model": model, "waiting": waiting, "failing": failing});
    (report, format!("{INDENT}by meaning with {model}; {progress}{reason}"))
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

//! Alternatives to a failed tool: similar tools that the caller may call, with no stronger effect.

use std::{collections::HashMap, sync::Arc};

use crate::{
    Fault, SourceId, ToolId, ToolSpec,
    page::MatchQuality,
    ports::{
        CallLedger, ToolIndex,
        ledger::{MetricsFilter, ToolMetrics},
        tool_index::{ToolFilter, ToolHit, ToolSearchRequest},
    },
    search::tools::twins::{self, ServerPositions, TwinOrder},
};

/// Hits to request from the index, before unsuitable ones are removed.
const MAX_CANDIDATES: usize = 50;

/// Half-life of a tool's record in milliseconds: seven days.
const HALF_LIFE_MS: f64 = 7.0 * 24.0 * 3_600_000.0;

/// Factor for a tool without a record.
const UNKNOWN_FACTOR: f64 = 0.5;

/// Codes of refusals, which another tool must not get around.
const REFUSAL_CODES: [&str; 2] = ["DENIED", "INVALID_ARGUMENTS"];

/// A tool that can replace another. The score is the product of the factors, each 0 to 1.
#[derive(Debug, Clone)]
pub struct AlternativeTool {
    pub id: ToolId,
    pub spec: Arc<ToolSpec>,
    pub score: f64,
    pub similarity: f64,
    /// Share of calls that succeeded; 0.5 without calls.
    pub success_rate: f64,
    /// Halved for every seven days since the last call; 0.5 without calls.
    pub recency: f64,
    pub reason: String,
}

pub struct FailedTool<'a> {
    pub id: &'a ToolId,
    pub spec: &'a ToolSpec,
    /// The error or its code. A refusal gets no alternatives.
    pub error: Option<&'a str>,
}

pub type SpecResolver<'a> = &'a (dyn Fn(&ToolHit) -> Arc<ToolSpec> + Send + Sync);

/// Inputs of [`alternatives`].
pub struct FallbackSearch<'a> {
    pub index: &'a dyn ToolIndex,
    /// Statistics of calls. Without it, or if it cannot be read, tools have no record.
    pub ledger: Option<&'a dyn CallLedger>,
    pub may_call: ToolFilter<'a>,
    pub resolve_spec: SpecResolver<'a>,
    pub places: ServerPositions,
}

/// Returns alternatives, best first, with [near-twins](twins) grouped. `now` is in milliseconds since the Unix epoch.
pub async fn alternatives(
    candidates: FallbackSearch<'_>,
    failed: &FailedTool<'_>,
    now: u64,
    limit: usize,
) -> Result<Vec<AlternativeTool>, Fault> {
    let FallbackSearch { index, ledger, may_call, resolve_spec, places } = candidates;
    if failed.error.is_some_and(is_refusal) {
        return Ok(Vec::new());
    }
    let other = |tool: &ToolId| tool != failed.id && may_call(tool);
    let query = format!("{} {}", failed.spec.name, failed.spec.description);
    let request = ToolSearchRequest { query, limit: MAX_CANDIDATES, min_score: 0.0 };
    let results = index.search(&request, &other).await?;
    let metrics = match ledger {
        Some(ledger) => ledger.metrics(&MetricsFilter::default()).await.unwrap_or_else(|fault| {
            tracing::warn!("suggesting tools without call records: {}", fault.in_one_line());
            Vec::new()
        }),
        None => Vec::new(),
    };
    // The index is not trusted to have applied the filter: a hit outside of the preset would grant access.
    let hits = results.hits.into_iter().filter(|hit| other(&hit.id));
    let hits = hits.map(|hit| ToolHit { spec: resolve_spec(&hit), ..hit });
    Ok(rank(failed, hits, metrics, places, now, limit))
}

/// Returns true if an error is a refusal: its code alone, or a whole reply that contains it.
fn is_refusal(error: &str) -> bool {
    REFUSAL_CODES.iter().any(|refusal| error.contains(refusal))
}

fn rank(
    failed: &FailedTool<'_>,
    hits: impl Iterator<Item = ToolHit>,
    metrics: Vec<ToolMetrics>,
    places: ServerPositions,
    now: u64,
    limit: usize,
) -> Vec<AlternativeTool> {
    let order = TwinOrder::new(places, &metrics);
    let metrics_by_tool: HashMap<(SourceId, String), ToolMetrics> =
        metrics.into_iter().map(|record| ((record.source.clone(), record.tool.clone()), record)).collect();
    let no_stronger = |spec: &ToolSpec| {
        spec.effect <= failed.spec.effect && (failed.spec.is_destructive() || !spec.is_destructive())
    };
    let fitting = hits.filter(|hit| no_stronger(&hit.spec) && hit.fit != MatchQuality::Nothing);
    let mut alternatives: Vec<AlternativeTool> = fitting
        .map(|hit| {
            let tool_metrics = metrics_by_tool.get(&(hit.id.source.clone(), hit.id.name.to_string()));
            alternative(hit, tool_metrics, now)
        })
        .collect();
    let elsewhere = |tool: &AlternativeTool| tool.id.source != failed.id.source;
    alternatives.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then_with(|| elsewhere(a).cmp(&elsewhere(b))).then_with(|| a.id.cmp(&b.id))
    });
    // Copies of a tool have the same text, so the order of servers and records decides between them.
    let mut groups = twins::group_twins(alternatives, |tool| (&tool.id, &*tool.spec));
    groups.iter_mut().for_each(|group| group.sort_by(|a, b| order.compare(&a.id, &b.id)));
    groups.into_iter().flatten().take(limit).collect()
}

fn alternative(hit: ToolHit, metrics: Option<&ToolMetrics>, now: u64) -> AlternativeTool {
    let similarity = hit.score.clamp(0.0, 1.0);
    let success_rate = metrics.and_then(ToolMetrics::success_rate).unwrap_or(UNKNOWN_FACTOR);
    let last = metrics.and_then(|metrics| metrics.last_called);
    let recency =
        last.map_or(UNKNOWN_FACTOR, |last| 0.5_f64.powf(now.saturating_sub(last) as f64 / HALF_LIFE_MS));
    let record = match metrics {
        Some(metrics) if metrics.calls > 0 => {
            format!("{:.0} % of {} calls succeeded", success_rate * 100.0, metrics.calls)
        }
        _ => "not called yet".to_owned(),
    };
    let reason = format!("{:.0} % match; {record}.", similarity * 100.0);
    let score = similarity * success_rate * recency;
    AlternativeTool { id: hit.id, spec: hit.spec, score, similarity, success_rate, recency, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Effect,
        testing::{metrics, tool},
    };

    fn hit(server: &str, name: &str, score: f64, effect: Effect) -> ToolHit {
        let mut spec = tool(name, None);
        spec.effect = effect;
        let id = ToolId { source: SourceId::Server(server.into()), name: name.into() };
        ToolHit { id, spec: Arc::new(spec), score, fit: MatchQuality::Good }
    }

    #[test]
    fn score_is_the_product_and_stronger_tools_are_excluded() {
        let id = ToolId { source: SourceId::Server("a".into()), name: "read".into() };
        let mut spec = tool("read", None);
        spec.effect = Effect::Mutating;
        let failed = FailedTool { id: &id, spec: &spec, error: None };
        let hits = vec![
            hit("b", "same", 0.8, Effect::ReadOnly),
            hit("a", "same", 0.8, Effect::ReadOnly),
            hit("b", "known", 0.8, Effect::Mutating),
            hit("b", "stronger", 1.0, Effect::ExternalExec),
        ];
        let now = HALF_LIFE_MS as u64;
        let known_id = ToolId { source: SourceId::Server("b".into()), name: "known".into() };
        let known = vec![metrics(&known_id, 10, 1, 0)];
        let found = rank(&failed, hits.into_iter(), known, ServerPositions::new(), now, 9);
        let names: Vec<_> =
            found.iter().map(|one| format!("{}.{}", one.id.source.name(), one.id.name)).collect();
        assert_eq!(names, ["b.known", "a.same", "b.same"]);
        assert!((found[0].score - 0.8 * 0.9 * 0.5).abs() < 1e-9, "{:?}", found[0]);
        assert_eq!(found[0].reason, "80 % match; 90 % of 10 calls succeeded.");
        assert!((found[1].score - 0.8 * 0.25).abs() < 1e-9, "{:?}", found[1]);
        assert_eq!(found[1].reason, "80 % match; not called yet.");
        spec.additive = true;
        let failed = FailedTool { id: &id, spec: &spec, error: None };
        let hits = vec![hit("b", "look", 0.8, Effect::ReadOnly), hit("b", "wipe", 0.9, Effect::Mutating)];
        let found = rank(&failed, hits.into_iter(), Vec::new(), ServerPositions::new(), now, 9);
        assert_eq!(found.iter().map(|one| &*one.id.name).collect::<Vec<_>>(), ["look"]);
    }

    #[test]
    fn a_refusal_is_known_by_its_code_alone_and_in_a_whole_reply() {
        let replied = r#"{"success":false,"error":"no","error_code":"DENIED","server":"git"}"#;
        for refusal in ["DENIED", "INVALID_ARGUMENTS", " DENIED: not here", replied] {
            assert!(is_refusal(refusal), "{refusal}");
        }
        for failure in ["TIMEOUT", "EXECUTION_ERROR", "empty reply", ""] {
            assert!(!is_refusal(failure), "{failure}");
        }
    }
}

//! What may be called instead of a tool that failed: tools that a search finds by the failed one's own words, that the
//! caller may call, and that do no more than it would have done. A pure order over what index and ledger know.

use std::{collections::HashMap, sync::Arc};

use crate::{
    outcome::Fault,
    page::MatchQuality,
    ports::{
        CallLedger, ToolIndex,
        ledger::{MetricsFilter, ToolMetrics},
        tool_index::{ToolFilter, ToolHit, ToolSearchRequest},
    },
    search::tools::twins::{self, ServerPositions, TwinOrder},
    tool::{SourceId, ToolId, ToolSpec},
};

/// Candidates that are looked at: those that may not be called, or do too much, are taken from these.
const MAX_CANDIDATES: usize = 50;

/// After so many milliseconds without a call, a tool's record counts half: seven days.
const HALF_LIFE_MS: f64 = 7.0 * 24.0 * 3_600_000.0;

/// A factor of which nothing is known.
const UNKNOWN_FACTOR: f64 = 0.5;

/// What the error has in it where it is a refusal: there is no way round one.
const REFUSAL_CODES: [&str; 2] = ["DENIED", "INVALID_ARGUMENTS"];

/// A tool that may stand in for another. The score is the product of the three factors, each 0 to 1.
#[derive(Debug, Clone)]
pub struct AlternativeTool {
    /// Whose tool, and its own name.
    pub id: ToolId,
    /// As its server declares it.
    pub spec: Arc<ToolSpec>,
    /// The product.
    pub score: f64,
    /// How much it is like the failed one.
    pub similarity: f64,
    /// Of its calls; 0.5 where there was none.
    pub success_rate: f64,
    /// Halved for every seven days since its last call; 0.5 where there was none.
    pub recency: f64,
    /// In a sentence.
    pub reason: String,
}

/// The tool that failed, and what with.
pub struct FailedTool<'a> {
    /// Whose tool, and its own name.
    pub id: &'a ToolId,
    /// As it is declared.
    pub spec: &'a ToolSpec,
    /// The error, or its code. A refusal has no alternatives.
    pub error: Option<&'a str>,
}

/// A tool that was found, as it would be called.
pub type SpecResolver<'a> = &'a (dyn Fn(&ToolHit) -> Arc<ToolSpec> + Send + Sync);

/// Where alternatives come from.
pub struct FallbackSearch<'a> {
    /// Finds them.
    pub index: &'a dyn ToolIndex,
    /// Knows how calls of them went. Without it, or if it cannot be read, no tool has a record, and the log says so.
    pub ledger: Option<&'a dyn CallLedger>,
    /// Whether the caller may call a tool.
    pub may_call: ToolFilter<'a>,
    /// Adds what the index does not know.
    pub resolve_spec: SpecResolver<'a>,
    /// Order of the servers.
    pub places: ServerPositions,
}

/// Alternatives that may be called, best first; [near-twins](twins) together. `now` is milliseconds since
/// 1970-01-01T00:00:00Z.
pub async fn alternatives(
    candidates: FallbackSearch<'_>,
    failed: &FailedTool<'_>,
    now: u64,
    limit: usize,
) -> Result<Vec<AlternativeTool>, Fault> {
    let FallbackSearch { index, ledger, may_call, resolve_spec: as_called, places } = candidates;
    if failed.error.is_some_and(is_refusal) {
        return Ok(Vec::new());
    }
    let other = |tool: &ToolId| tool != failed.id && may_call(tool);
    let query = format!("{} {}", failed.spec.name, failed.spec.description);
    let question = ToolSearchRequest { query, limit: MAX_CANDIDATES, min_score: 0.0 };
    let found = index.search(&question, &other).await?;
    let metrics = match ledger {
        Some(ledger) => ledger.metrics(&MetricsFilter::default()).await.unwrap_or_else(|fault| {
            tracing::warn!("tools are suggested without their records: {}", fault.in_one_line());
            Vec::new()
        }),
        None => Vec::new(),
    };
    let hits = found.hits.into_iter().filter(|hit| other(&hit.id));
    let hits = hits.map(|hit| ToolHit { spec: as_called(&hit), ..hit });
    Ok(rank(failed, hits, metrics, places, now, limit))
}

/// Whether an error says that something is not to be done: it may be the code alone, or a whole reply that has it.
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
    let known: HashMap<(SourceId, String), ToolMetrics> =
        metrics.into_iter().map(|one| ((one.source.clone(), one.tool.clone()), one)).collect();
    let no_stronger = |spec: &ToolSpec| {
        spec.effect <= failed.spec.effect && (failed.spec.is_destructive() || !spec.is_destructive())
    };
    let fitting = hits.filter(|hit| no_stronger(&hit.spec) && hit.fit != MatchQuality::Nothing);
    let mut alternatives: Vec<AlternativeTool> = fitting
        .map(|hit| {
            let known = known.get(&(hit.id.source.clone(), hit.id.name.to_string()));
            alternative(hit, known, now)
        })
        .collect();
    let elsewhere = |one: &AlternativeTool| one.id.source != failed.id.source;
    alternatives.sort_by(|a, b| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then_with(|| elsewhere(a).cmp(&elsewhere(b))).then_with(|| a.id.cmp(&b.id))
    });
    // A copy of a tool is told apart from the original by nothing that it says of itself.
    let mut groups = twins::group_twins(alternatives, |one| (&one.id, &*one.spec));
    groups.iter_mut().for_each(|group| group.sort_by(|a, b| order.compare(&a.id, &b.id)));
    groups.into_iter().flatten().take(limit).collect()
}

fn alternative(hit: ToolHit, known: Option<&ToolMetrics>, now: u64) -> AlternativeTool {
    let similarity = hit.score.clamp(0.0, 1.0);
    let success_rate = known.and_then(ToolMetrics::success_rate).unwrap_or(UNKNOWN_FACTOR);
    let last = known.and_then(|known| known.last_called);
    let recency =
        last.map_or(UNKNOWN_FACTOR, |last| 0.5_f64.powf(now.saturating_sub(last) as f64 / HALF_LIFE_MS));
    let record = match known {
        Some(known) if known.calls > 0 => {
            format!("{:.0} % of {} calls succeeded", success_rate * 100.0, known.calls)
        }
        _ => "never called yet".to_owned(),
    };
    let reason = format!("Fits to {:.0} %; {record}.", similarity * 100.0);
    let score = similarity * success_rate * recency;
    AlternativeTool { id: hit.id, spec: hit.spec, score, similarity, success_rate, recency, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        effect::Effect,
        testing::{metrics, tool},
    };

    fn hit(server: &str, name: &str, score: f64, effect: Effect) -> ToolHit {
        let mut spec = tool(name, None);
        spec.effect = effect;
        let id = ToolId { source: SourceId::Server(server.into()), name: name.into() };
        ToolHit { id, spec: Arc::new(spec), score, fit: MatchQuality::Good }
    }

    #[test]
    fn the_score_is_the_product_and_no_effect_is_stronger() {
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
        assert_eq!(found[0].reason, "Fits to 80 %; 90 % of 10 calls succeeded.");
        assert!((found[1].score - 0.8 * 0.25).abs() < 1e-9, "{:?}", found[1]);
        assert_eq!(found[1].reason, "Fits to 80 %; never called yet.");
        // One that only adds is not replaced by one that may remove.
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

//! `recommend_tools`: the best tools for a task, with reasons. What a search finds is ordered by how well it fits, by how
//! calls of it went as well, or by a language model; where that is not there, the reply says so.

mod model;

use std::collections::HashMap;

use gatehouse_sdk::{
    Call, Count, Fault, Reply, Tool,
    servers::{self, MetricsFilter, ToolHit, ToolSearch},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Params,
    alternatives::{self, RelatedToolData},
    metrics,
    params::SearchMode,
    reply_format,
    search::with_server,
    twins::{self, Twin},
};

/// Recommendations of one reply at most.
const MAX_RECOMMENDATIONS: u32 = 20;

/// Hits that are chosen from, at least.
const MIN_CANDIDATES: u32 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    task_description: String,
    search_mode: Option<SearchMode>,
    top_k: Option<Count>,
}

#[derive(Serialize, JsonSchema)]
struct Recommendation {
    server: String,
    tool: String,
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    similarity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success_rate: Option<f64>,
    /// Tools of other servers that say the same of themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    twins: Vec<Twin>,
}

#[derive(Serialize, JsonSchema)]
struct RecommendReply {
    recommendations: Vec<Recommendation>,
    /// What was used: hybrid_fallback where no language model could choose.
    search_mode: &'static str,
    /// What is called with the first of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<RelatedToolData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A tool that may be recommended.
pub(crate) struct RecommendCandidate {
    pub(crate) hit: ToolHit,
    twins: Vec<Twin>,
    /// Calls, and the share of them that succeeded.
    record: Option<(u64, f64)>,
    /// In a model's words.
    pub(crate) reason: Option<String>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>("recommend_tools")
        .description(|_| "The best tools for a task, with reasons.")
        .default_from("search_mode", |params| serde_json::json!(params.search_mode))
        .default_from("top_k", |_| 3.into())
        .output::<RecommendReply>()
        .run(run)
}

fn run(call: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let top_k = args.top_k.map_or(3, |top_k| top_k.at_most(MAX_RECOMMENDATIONS));
    let task = args.task_description;
    let found = servers::search(&ToolSearch {
        query: task.clone(),
        server: None,
        limit: top_k.max(MIN_CANDIDATES),
        min_score: 0.0,
    })?;
    let mut candidates = with_records(call, found.hits);
    let search_mode = match args.search_mode.unwrap_or(call.params.search_mode) {
        SearchMode::Semantic => "semantic",
        SearchMode::Hybrid => {
            sort_by_record(&mut candidates);
            "hybrid"
        }
        SearchMode::Llm => match model::choose_tools(call, &task, &mut candidates, top_k as usize) {
            true => "llm",
            false => {
                sort_by_record(&mut candidates);
                "hybrid_fallback"
            }
        },
    };
    candidates.truncate(top_k as usize);
    // Beside the point where the ledger cannot be read: the recommendations stand.
    let first = candidates.first().map(|one| alternatives::related(&one.hit.server, &one.hit.name));
    let related = first.and_then(Result::ok).unwrap_or_default();
    let mut lines: Vec<String> = candidates
        .iter()
        .map(|one| {
            let line = format!("{} [{}]", with_server(&one.hit.server, &one.hit.signature), reason(one));
            twins::line(line, &one.twins)
        })
        .collect();
    if lines.is_empty() {
        lines.push("No tool fits.".into());
    }
    lines.extend(related.iter().map(alternatives::related_line));
    if search_mode == "hybrid_fallback" {
        lines.push("No language model could choose; ordered by fit and record (hybrid_fallback).".into());
    }
    lines.extend(found.note.clone());
    let recommendations = candidates.into_iter().map(recommendation).collect();
    let recommended = RecommendReply { recommendations, search_mode, related, note: found.note };
    Reply::markdown(lines.join("\n")).structured(&recommended)
}

/// The hits with how calls of them went, where the preset wants that and the books can be read.
fn with_records(call: &Call<Params>, hits: Vec<ToolHit>) -> Vec<RecommendCandidate> {
    let metrics = match call.params.include_metrics && !hits.is_empty() {
        true => servers::metrics(&MetricsFilter::all()).unwrap_or_default(),
        false => Vec::new(),
    };
    let mut records: HashMap<(String, String), (u64, f64)> = metrics
        .into_iter()
        .filter(|one| one.calls > 0)
        .map(|one| {
            let record = (one.calls, metrics::success_rate(&one));
            ((one.server, one.tool), record)
        })
        .collect();
    twins::group_twins(hits)
        .into_iter()
        .map(|twins::TwinGroup { hit, twins }| {
            let record = records.remove(&(hit.server.clone(), hit.name.clone()));
            RecommendCandidate { hit, twins, record, reason: None }
        })
        .collect()
}

/// Half of the score is how well a tool fits, whatever its record; a tool without one counts as one that fails half the time.
fn sort_by_record(candidates: &mut [RecommendCandidate]) {
    let score =
        |one: &RecommendCandidate| one.hit.score * (1.0 + one.record.map_or(0.5, |(_, rate)| rate)) / 2.0;
    candidates.sort_by(|a, b| score(b).total_cmp(&score(a)));
}

fn reason(one: &RecommendCandidate) -> String {
    if let Some(reason) = &one.reason {
        return reason.clone();
    }
    let fit = format!("fits to {:.0} %", one.hit.score * 100.0);
    match one.record {
        Some((calls, rate)) => format!("{fit}; {:.0} % of {calls} calls succeeded", rate * 100.0),
        None => fit,
    }
}

fn recommendation(one: RecommendCandidate) -> Recommendation {
    Recommendation {
        reason: reason(&one),
        similarity: Some(reply_format::two_places(one.hit.score)),
        success_rate: one.record.map(|(_, rate)| reply_format::two_places(rate)),
        server: one.hit.server,
        tool: one.hit.name,
        twins: one.twins,
    }
}

//! `recommend_tools`: picks the best tools for a task, with reasons. Search results are ordered by similarity, by
//! similarity and success rate, or by a language model. If the model is unavailable, the reply reports a fallback.

mod model;

use std::collections::HashMap;

use gatehouse_sdk::{
    Call, Count, Fault, Reply, Tool,
    servers::{self, Fit, MetricsFilter, ToolHit, ToolSearch},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Params,
    alternatives::{self, RelatedToolData},
    metrics,
    params::SearchMode,
    reply_format,
    search::{Twin, TwinGroup, by_fit, group_twins, rank, with_server, with_twins},
};

const MAX_RECOMMENDATIONS: u32 = 20;

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
    /// Similar tools of other servers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    twins: Vec<Twin>,
}

#[derive(Serialize, JsonSchema)]
struct RecommendReply {
    recommendations: Vec<Recommendation>,
    /// The mode used: hybrid_fallback if no language model could choose.
    search_mode: &'static str,
    /// Tools often called with the first one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related: Vec<RelatedToolData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

pub(crate) struct RecommendCandidate {
    pub(crate) hit: ToolHit,
    twins: Vec<Twin>,
    record: Option<(u64, f64)>,
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
    let matches = servers::search(&ToolSearch {
        query: task.clone(),
        server: None,
        limit: top_k.max(MIN_CANDIDATES),
        min_score: 0.0,
    })?;
    let mut candidates = with_records(call, matches.hits);
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
    // Without a readable ledger, the reply has only the recommendations.
    let first = candidates.first().map(|best| alternatives::related(&best.hit.server, &best.hit.name));
    let related = first.and_then(Result::ok).unwrap_or_default();
    // A tool that the model chose fits, whatever the search says.
    let fit = |candidate: &RecommendCandidate| {
        if candidate.reason.is_some() { Fit::Good } else { candidate.hit.fit }
    };
    let mut lines = by_fit(candidates.iter().map(|candidate| {
        let mut line = with_server(&candidate.hit.server, &candidate.hit.signature);
        if let Some(remark) = remark(candidate) {
            line += &format!(" [{remark}]");
        }
        (with_twins(line, &candidate.twins), fit(candidate))
    }));
    lines.extend(related.iter().map(alternatives::related_line));
    if search_mode == "hybrid_fallback" {
        lines.push("No language model could choose; ordered by fit and record (hybrid_fallback).".into());
    }
    lines.extend(matches.note.clone());
    let recommendations = candidates.into_iter().map(recommendation).collect();
    let recommended = RecommendReply { recommendations, search_mode, related, note: matches.note };
    Reply::markdown(lines.join("\n")).structured(&recommended)
}

fn with_records(call: &Call<Params>, hits: Vec<ToolHit>) -> Vec<RecommendCandidate> {
    let metrics = match call.params.include_metrics && !hits.is_empty() {
        true => servers::metrics(&MetricsFilter::all()).unwrap_or_default(),
        false => Vec::new(),
    };
    let mut records: HashMap<(String, String), (u64, f64)> = metrics
        .into_iter()
        .filter(|tool| tool.calls > 0)
        .map(|tool| {
            let record = (tool.calls, metrics::success_rate(&tool));
            ((tool.server, tool.tool), record)
        })
        .collect();
    group_twins(hits)
        .into_iter()
        .map(|TwinGroup { hit, twins }| {
            let record = records.remove(&(hit.server.clone(), hit.name.clone()));
            RecommendCandidate { hit, twins, record, reason: None }
        })
        .collect()
}

/// Sorts by fit, then by a score that is half similarity alone. A tool without calls counts as one with a success rate
/// of 50 %.
fn sort_by_record(candidates: &mut [RecommendCandidate]) {
    let score =
        |tool: &RecommendCandidate| tool.hit.score * (1.0 + tool.record.map_or(0.5, |(_, rate)| rate)) / 2.0;
    candidates
        .sort_by(|a, b| rank(b.hit.fit).cmp(&rank(a.hit.fit)).then_with(|| score(b).total_cmp(&score(a))));
}

/// Returns what the line of a tool says in brackets: the model's reason, or how its calls went.
fn remark(candidate: &RecommendCandidate) -> Option<String> {
    let record = |(calls, rate): (u64, f64)| format!("{:.0} % of {calls} calls succeeded", rate * 100.0);
    candidate.reason.clone().or_else(|| candidate.record.map(record))
}

fn reason(candidate: &RecommendCandidate) -> String {
    let fit = match candidate.hit.fit {
        Fit::Names | Fit::Good => "fits",
        Fit::Weak => "may fit",
        Fit::Nothing => "does not fit",
    };
    match remark(candidate) {
        Some(remark) if candidate.reason.is_some() => remark,
        Some(remark) => format!("{fit}; {remark}"),
        None => fit.into(),
    }
}

fn recommendation(candidate: RecommendCandidate) -> Recommendation {
    Recommendation {
        reason: reason(&candidate),
        similarity: Some(reply_format::two_places(candidate.hit.score)),
        success_rate: candidate.record.map(|(_, rate)| reply_format::two_places(rate)),
        server: candidate.hit.server,
        tool: candidate.hit.name,
        twins: candidate.twins,
    }
}

//! `semantic_search`: finds stored results whose summaries answer a question.

use gatehouse_sdk::{
    Call, Count, Fault, Reply, Tool,
    artifacts::{self, Artifact, Fit, Hit},
    to_json,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, filter::summary::StoredSummary, time};

pub(crate) const NAME: &str = "semantic_search";

const MAX_HITS: u32 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    #[schemars(length(min = 1, max = 8192))]
    query: String,
    limit: Option<Count>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ArtifactMatch {
    artifact_id: String,
    summary: StoredSummary,
    /// 0 to 1; comparable within one search only.
    relevance_score: f64,
    path: String,
    tool_name: String,
    server_id: String,
    timestamp: String,
}

#[derive(Serialize, JsonSchema)]
struct ArtifactMatches {
    results: Vec<ArtifactMatch>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "Find stored results of earlier calls by meaning.")
        .default_from("limit", |_| 5.into())
        .idempotent()
        .output::<ArtifactMatches>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let limit = args.limit.map_or(5, |limit| limit.at_most(MAX_HITS));
    let hits = artifacts::search(&args.query, limit)?;
    let results: Vec<ArtifactMatch> =
        hits.into_iter().filter(|hit| hit.fit != Fit::Nothing).map(artifact_match).collect();
    let text = match results.is_empty() {
        true => "No stored result matches.".into(),
        false => to_json(&results)?,
    };
    Reply::markdown(text).structured(&ArtifactMatches { results })
}

fn artifact_match(hit: Hit) -> ArtifactMatch {
    let Artifact { id, summary, tool, source, created, .. } = hit.artifact;
    ArtifactMatch {
        path: id.clone(),
        artifact_id: id,
        summary: StoredSummary::read(&summary.unwrap_or_default()),
        relevance_score: (hit.score * 1_000.0).round() / 1_000.0,
        tool_name: tool.unwrap_or_default(),
        server_id: source.unwrap_or_default(),
        timestamp: time::stamp(created),
    }
}

//! `semantic_search` finds stored results whose summaries answer a question. `search_workspace` lists them, newest first.
//! `pin_artifact` pins one beyond its expiry, or tags it.

use gatehouse_sdk::{
    Call, Count, Effect, Fault, Intent, Reply, Tool,
    artifacts::{self, Artifact, Changes, Filter, Fit, Hit},
    context, to_json,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, filter::summary::StoredSummary, resources::artifact_id, time};

pub(crate) const SEARCH: &str = "semantic_search";

pub(crate) const LIST: &str = "search_workspace";

pub(crate) const PIN: &str = "pin_artifact";

const MAX_ARTIFACTS: u32 = 50;

const NO_MATCH: &str = "No stored result matches.";

/// Results of a search without a limit of its own.
const SEARCH_LIMIT: u32 = 5;

const MAX_SUMMARY_CHARS: usize = 120;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SearchArgs {
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

pub(crate) fn search() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, SearchArgs>(SEARCH)
        .description(|_| "Find stored results of earlier calls by meaning.")
        .default_from("limit", |_| SEARCH_LIMIT.into())
        .idempotent()
        .output::<ArtifactMatches>()
        .run(run_search)
}

fn run_search(_: &Call<Params>, args: SearchArgs) -> Result<Reply, Fault> {
    let limit = args.limit.map_or(SEARCH_LIMIT, |limit| limit.at_most(MAX_ARTIFACTS));
    let hits = artifacts::search(&args.query, limit)?;
    let results: Vec<ArtifactMatch> =
        hits.into_iter().filter(|hit| hit.fit != Fit::Nothing).map(artifact_match).collect();
    let text = match results.is_empty() {
        true => NO_MATCH.into(),
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

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WorkspaceListArgs {
    /// All of them.
    tags: Option<Vec<String>>,
    query: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ArtifactEntry {
    artifact_id: String,
    tool_name: String,
    server_id: String,
    tags: Vec<String>,
    /// Bytes.
    size: u64,
    lines: u64,
    timestamp: String,
    age_seconds: u64,
    /// Absent if it is pinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_seconds: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct ArtifactList {
    artifacts: Vec<ArtifactEntry>,
}

pub(crate) fn list() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, WorkspaceListArgs>(LIST)
        .description(|_| "List stored results, newest first, by tags or words.")
        .idempotent()
        .output::<ArtifactList>()
        .run(run_list)
}

fn run_list(_: &Call<Params>, args: WorkspaceListArgs) -> Result<Reply, Fault> {
    let filter = Filter { tags: args.tags.unwrap_or_default(), words: args.query.unwrap_or_default() };
    let mut artifacts = artifacts::recent(&filter, MAX_ARTIFACTS)?;
    let by_meaning = artifacts.is_empty() && filter.tags.is_empty() && !filter.words.trim().is_empty();
    if by_meaning {
        // A model that describes a result instead of naming its words means a search.
        let hits = artifacts::search(&filter.words, SEARCH_LIMIT)?.into_iter();
        artifacts = hits.filter(|hit| hit.fit != Fit::Nothing).map(|hit| hit.artifact).collect();
    }
    let now = context::now();
    let lines = artifacts.iter().map(|artifact| line(artifact, now)).collect::<Vec<_>>().join("\n");
    let text = match (artifacts.is_empty(), by_meaning) {
        (true, _) => NO_MATCH.into(),
        (false, true) => format!("None has all of these words. By meaning, best first:\n{lines}"),
        (false, false) => lines,
    };
    let artifacts = artifacts.into_iter().map(|artifact| artifact_entry(artifact, now)).collect();
    Reply::markdown(text).structured(&ArtifactList { artifacts })
}

fn line(artifact: &Artifact, now: u64) -> String {
    let age = time::span(now.saturating_sub(artifact.created));
    let expiry = match artifact.expires {
        Some(at) => format!("expires in {}", time::span(at.saturating_sub(now))),
        None => "pinned".into(),
    };
    let summary = StoredSummary::read(artifact.summary.as_deref().unwrap_or_default()).to_one_line();
    let excerpt: String = summary.chars().take(MAX_SUMMARY_CHARS).collect();
    let dots = if excerpt.len() < summary.len() { "…" } else { "" };
    let tags = artifact.tags.join(", ");
    let tool = artifact.tool.as_deref().unwrap_or("?");
    format!(
        "{}: {} bytes of {tool}, {age} old, {expiry} [{tags}] {excerpt}{dots}",
        artifact.id, artifact.size
    )
}

fn artifact_entry(artifact: Artifact, now: u64) -> ArtifactEntry {
    ArtifactEntry {
        artifact_id: artifact.id,
        tool_name: artifact.tool.unwrap_or_default(),
        server_id: artifact.source.unwrap_or_default(),
        tags: artifact.tags,
        size: artifact.size,
        lines: artifact.lines,
        timestamp: time::stamp(artifact.created),
        age_seconds: now.saturating_sub(artifact.created) / 1000,
        expires_in_seconds: artifact.expires.map(|at| at.saturating_sub(now) / 1000),
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinArgs {
    id: String,
    pinned: Option<bool>,
    #[schemars(length(max = 16))]
    tags: Option<Vec<String>>,
}

pub(crate) fn pin() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, PinArgs>(PIN)
        .description(|_| "Pin a stored result so that it does not expire; add tags.")
        .default_from("pinned", |_| true.into())
        .intent(Intent::Modify)
        .effect(Effect::Mutating)
        .additive()
        .idempotent()
        .run(run_pin)
}

fn run_pin(_: &Call<Params>, args: PinArgs) -> Result<Reply, Fault> {
    let changes = Changes {
        summary: None,
        add_tags: args.tags.unwrap_or_default(),
        pinned: Some(args.pinned.unwrap_or(true)),
    };
    let artifact = artifacts::change(artifact_id(&args.id), &changes)?;
    let lifetime = match artifact.expires {
        None => "is pinned".to_owned(),
        Some(at) => format!("expires in {}", time::span(at.saturating_sub(context::now()))),
    };
    let tags = artifact.tags.join(", ");
    Ok(Reply::markdown(format!("{} {lifetime}. Tags: {tags}.", artifact.id)))
}

//! `search_workspace`: lists stored results, newest first.

use gatehouse_sdk::{
    Call, Fault, Reply, Tool,
    artifacts::{self, Artifact, Filter},
    context,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, filter::summary::StoredSummary, time};

pub(crate) const NAME: &str = "search_workspace";

const MAX_ARTIFACTS: u32 = 50;

const MAX_SUMMARY_CHARS: usize = 120;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
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

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "List stored results, newest first, by tags or words.")
        .idempotent()
        .output::<ArtifactList>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let filter = Filter { tags: args.tags.unwrap_or_default(), words: args.query.unwrap_or_default() };
    let found = artifacts::recent(&filter, MAX_ARTIFACTS)?;
    let now = context::now();
    let text = match found.is_empty() {
        true => "No stored result matches.".into(),
        false => found.iter().map(|artifact| line(artifact, now)).collect::<Vec<_>>().join("\n"),
    };
    let artifacts = found.into_iter().map(|artifact| artifact_entry(artifact, now)).collect();
    Reply::markdown(text).structured(&ArtifactList { artifacts })
}

fn line(artifact: &Artifact, now: u64) -> String {
    let age = time::span(now.saturating_sub(artifact.created));
    let left = match artifact.expires {
        Some(at) => format!("expires in {}", time::span(at.saturating_sub(now))),
        None => "pinned".into(),
    };
    let summary = StoredSummary::read(artifact.summary.as_deref().unwrap_or_default()).to_one_line();
    let shown: String = summary.chars().take(MAX_SUMMARY_CHARS).collect();
    let dots = if shown.len() < summary.len() { "…" } else { "" };
    let tags = artifact.tags.join(", ");
    let tool = artifact.tool.as_deref().unwrap_or("?");
    format!("{}: {} bytes of {tool}, {age} old, {left} [{tags}] {shown}{dots}", artifact.id, artifact.size)
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

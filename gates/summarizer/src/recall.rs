//! `get_artifact_context`: returns complete summaries of several stored results, within a budget.

use gatehouse_sdk::{
    Call, Count, Fault, Reply, Tool,
    artifacts::{self, Artifact, Part},
    text, to_json,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Params, filter::summary::StoredSummary, resources::artifact_id, time};

pub(crate) const NAME: &str = "get_artifact_context";

/// Digest size for a result without a summary.
const NEW_CONTEXT_TOKENS: u32 = 400;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    #[schemars(length(min = 1, max = 50))]
    ids: Vec<String>,
    #[serde(rename = "maxTokens")]
    max_tokens: Option<Count>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ArtifactContext {
    artifact_id: String,
    tool_name: String,
    server_id: String,
    timestamp: String,
    summary: StoredSummary,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ArtifactContexts {
    contexts: Vec<ArtifactContext>,
    total_tokens: u32,
    /// IDs that do not fit.
    omitted: Vec<String>,
    /// IDs not found or expired.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<String>,
}

pub(crate) fn tool() -> Tool<Params> {
    gatehouse_sdk::tool::<Params, Args>(NAME)
        .description(|_| "Summaries of several stored results, in the given order.")
        .default_from("maxTokens", |_| 4_000.into())
        .meta(|_| Some(crate::long_results()))
        .idempotent()
        .output::<ArtifactContexts>()
        .run(run)
}

fn run(_: &Call<Params>, args: Args) -> Result<Reply, Fault> {
    let budget = args.max_tokens.map_or(4_000, |max| max.at_most(100_000));
    let mut ids: Vec<String> = Vec::new();
    for id in args.ids.iter().map(|id| artifact_id(id).to_owned()) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let artifacts = artifacts::info(&ids)?;
    let mut reply =
        ArtifactContexts { contexts: Vec::new(), total_tokens: 0, omitted: Vec::new(), unknown: Vec::new() };
    for (id, artifact) in ids.into_iter().zip(artifacts) {
        let Some(artifact) = artifact else {
            reply.unknown.push(id);
            continue;
        };
        let context = context(artifact)?;
        let tokens = text::count(&to_json(&context)?)?;
        // A long summary is skipped so that a later, shorter one can fit.
        if reply.total_tokens + tokens > budget {
            reply.omitted.push(id);
        } else {
            reply.total_tokens += tokens;
            reply.contexts.push(context);
        }
    }
    Reply::markdown(to_json(&reply)?).structured(&reply)
}

fn context(artifact: Artifact) -> Result<ArtifactContext, Fault> {
    let summary = match artifact.summary {
        Some(summary) => StoredSummary::read(&summary),
        None => {
            let whole = artifacts::read(&artifact.id, &Part::Whole)?.text;
            StoredSummary::read(&text::digest(&whole, "", NEW_CONTEXT_TOKENS)?.text)
        }
    };
    Ok(ArtifactContext {
        artifact_id: artifact.id,
        tool_name: artifact.tool.unwrap_or_default(),
        server_id: artifact.source.unwrap_or_default(),
        timestamp: time::stamp(artifact.created),
        summary,
    })
}

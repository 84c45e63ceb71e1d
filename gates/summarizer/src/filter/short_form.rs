//! Renders the short form: one line of compact JSON with the findings, then the digest, then a link to the full result.

use gatehouse_sdk::{Call, Content, Fault, Reply, ResourceLink, artifacts::Artifact, context, text};
use serde_json::json;

use super::{
    Request, counters, reply,
    reply_parts::ReplyParts,
    summary::{CacheHit, Summary},
};
use crate::{Params, file, resources, time};

/// Renders the short form. `None` if it would be more than half of the result.
pub(super) fn render(
    request: &Request<'_>,
    summary: &Summary,
    artifact: Option<&Artifact>,
    parts: &ReplyParts,
) -> Result<Option<Reply>, Fault> {
    // The line contains its own length; measure with the largest number.
    let draft = head(request, summary, artifact, request.budget);
    let tokens = text::count(&format!("{draft}\n{}", summary.body))?;
    if tokens > summary.tokens_in / 2 {
        return Ok(None);
    }
    counters::add_saved(summary.tokens_in, tokens);
    let mut content = vec![Content::Text(head(request, summary, artifact, tokens))];
    if !summary.body.is_empty() {
        content.push(Content::Text(summary.body.clone()));
    }
    content.extend(artifact.map(link));
    Ok(Some(reply(content, parts)))
}

fn head(request: &Request<'_>, summary: &Summary, artifact: Option<&Artifact>, tokens: u32) -> String {
    let origin = request.origin;
    let created = artifact.map_or_else(context::now, |artifact| artifact.created);
    let mut metadata = json!({
        "toolName": origin.name,
        "serverId": origin.source,
        "timestamp": time::stamp(created),
        "artifactId": artifact.map(|artifact| &artifact.id),
        "method": summary.method,
    });
    match summary.cached {
        None => {}
        Some(CacheHit::Exact) => metadata["cache"] = "exact".into(),
        Some(CacheHit::Semantic(similarity)) => {
            metadata["cache"] = "semantic".into();
            metadata["similarity"] = json!((similarity * 1_000.0).round() / 1_000.0);
        }
    }
    let mut head = json!({ "keyFindings": summary.findings });
    if !summary.unverified.is_empty() {
        head["unverified"] = json!(summary.unverified);
    }
    head["metadata"] = metadata;
    let shortened = format!("shortened from {} to {tokens} tokens", summary.tokens_in);
    head["note"] = match artifact {
        Some(artifact) => format!("{shortened}; {}", read_hint(&artifact.id)).into(),
        None => format!("{shortened}; the full result is not stored: the store of results is full").into(),
    };
    head.to_string()
}

/// Describes where the full result is. Names a tool only if the caller has it.
fn read_hint(id: &str) -> String {
    match context::exposed_name(file::NAME) {
        Some(name) => format!("full result stored: {name} {}", json!({ "path": id })),
        None => format!("full result stored as {}", resources::uri(id)),
    }
}

fn link(artifact: &Artifact) -> Content {
    Content::Link(ResourceLink {
        uri: resources::uri(&artifact.id),
        name: artifact.id.clone(),
        title: None,
        description: None,
        mime_type: Some(artifact.mime_type.clone()),
        size: Some(artifact.size),
    })
}

pub(super) fn first_page(call: &Call<Params>, artifact: &Artifact, parts: &ReplyParts) -> Reply {
    let limit = call.params.return_limit_chars.at_most(u32::MAX) as usize;
    let end = parts.text.char_indices().nth(limit).map_or(parts.text.len(), |(end, _)| end);
    let total = parts.text.chars().count();
    let note = format!("characters 1-{limit} of {total}; {}", read_hint(&artifact.id));
    let note = json!({"metadata": {"artifactId": artifact.id}, "note": note}).to_string();
    reply(vec![Content::Text(note), Content::Text(parts.text[..end].to_owned()), link(artifact)], parts)
}

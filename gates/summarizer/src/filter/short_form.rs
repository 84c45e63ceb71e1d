//! Renders the short form: one line of compact JSON with the findings, then the digest, then a link to the full result.

use gatehouse_sdk::{
    Call, Content, Fault, Reply, ResourceLink,
    artifacts::Artifact,
    context,
    replies::{DataOrigin, ReplyData},
    text,
};
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
    let draft = head(request, summary, artifact, request.budget, parts);
    let beside = beside(parts);
    let tokens = text::count(&format!("{draft}\n{beside}\n{}", summary.body))?;
    if tokens > summary.tokens_in / 2 {
        return Ok(None);
    }
    counters::add_saved(summary.tokens_in, tokens);
    let mut content = vec![Content::Text(head(request, summary, artifact, tokens, parts))];
    let texts = [&beside, &summary.body].into_iter().filter(|text| !text.is_empty());
    content.extend(texts.cloned().map(Content::Text));
    content.extend(artifact.map(link));
    Ok(Some(reply(content, parts)))
}

fn head(
    request: &Request<'_>,
    summary: &Summary,
    artifact: Option<&Artifact>,
    tokens: u32,
    parts: &ReplyParts,
) -> String {
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
    // Programs read this member. A model's advice is not checked, so there is none.
    head["actionableInsights"] = json!([]);
    head["metadata"] = metadata;
    let shortened = format!("shortened from {} to {tokens} tokens", summary.tokens_in);
    head["note"] = match artifact {
        Some(artifact) => format!("{shortened}; {}{}", read_hint(&artifact.id), place(parts)).into(),
        None => format!("{shortened}; the full result is not stored: the store of results is full").into(),
    };
    head.to_string()
}

/// Maximum characters of text next to the data.
const MAX_BESIDE_CHARS: usize = 500;

fn beside(parts: &ReplyParts) -> String {
    let beside = parts.beside();
    match beside.char_indices().nth(MAX_BESIDE_CHARS) {
        Some((end, _)) => format!("{}…", &beside[..end]),
        None => beside.to_owned(),
    }
}

/// Names the part of the result that findings, pointers and jq are about, if it is not the whole.
fn place(parts: &ReplyParts) -> String {
    match &parts.view.data {
        Some(ReplyData { pointer: Some(pointer), .. }) if pointer.is_empty() => {
            "; findings, json_pointer and jq read the JSON in its string".into()
        }
        Some(ReplyData { pointer: Some(pointer), .. }) => {
            format!("; findings, json_pointer and jq read the JSON in the string at {pointer}")
        }
        Some(ReplyData { origin: DataOrigin::Island | DataOrigin::Block, .. }) => {
            "; findings, json_pointer and jq read the JSON in the text".into()
        }
        Some(ReplyData { origin: DataOrigin::Structured, .. }) if !parts.view.text.trim().is_empty() => {
            "; json_pointer and jq read its data, lines and find its text".into()
        }
        _ => String::new(),
    }
}

/// Describes where the full result is. Names a tool only if the caller has it.
fn read_hint(id: &str) -> String {
    match (context::exposed_name(file::NAME), context::exposed_name("request")) {
        // A preset with `request` can list no other tool.
        (Some(action), Some(request)) => {
            let call = json!({"intent": "QUERY", "action": action, "params": {"path": id}});
            format!("full result stored: {request} {call}")
        }
        (Some(name), None) => format!("full result stored: {name} {}", json!({ "path": id })),
        (None, _) => format!("full result stored as {}", resources::uri(id)),
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
    let whole = parts.whole();
    let end = whole.char_indices().nth(limit).map_or(whole.len(), |(end, _)| end);
    let total = whole.chars().count();
    let note = format!("characters 1-{limit} of {total}; {}", read_hint(&artifact.id));
    let note = json!({"metadata": {"artifactId": artifact.id}, "note": note}).to_string();
    reply(vec![Content::Text(note), Content::Text(whole[..end].to_owned()), link(artifact)], parts)
}

//! Stored results as resources: `gatehouse://artifact/{id}`.

use gatehouse_sdk::{
    EmbeddedResource, Fault, ResourceBody, ResourceLink, ResourcePage, Template,
    artifacts::{self, Artifact, Filter, Part},
    context,
};

use crate::{Params, filter::summary::StoredSummary};

const PREFIX: &str = "gatehouse://artifact/";

const TEMPLATE: &str = "gatehouse://artifact/{id}";

/// The host's limit per request.
const MAX_LISTED: u32 = 100;

const PAGE_SIZE: usize = 50;

pub(crate) fn uri(id: &str) -> String {
    format!("{PREFIX}{id}")
}

/// Returns the ID in a URI, or the argument itself.
pub(crate) fn artifact_id(path: &str) -> &str {
    let path = path.trim();
    path.strip_prefix(PREFIX).unwrap_or(path)
}

pub(crate) fn templates(_: &Params) -> Result<Vec<Template>, Fault> {
    Ok(vec![Template {
        uri_template: TEMPLATE.into(),
        name: "artifact".into(),
        title: Some("A stored result".into()),
        description: Some("The full result of an earlier call.".into()),
        mime_type: None,
    }])
}

pub(crate) fn list(_: &Params, cursor: Option<&str>) -> Result<ResourcePage, Fault> {
    let after = cursor.map(parse_cursor).transpose()?;
    let mut artifacts = artifacts::recent(&Filter { tags: Vec::new(), words: String::new() }, MAX_LISTED)?;
    artifacts.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.id.cmp(&b.id)));
    // The cursor is a position in the order, not an index, so changes since the last page do not shift it.
    let rest = artifacts.into_iter().filter(|artifact| match &after {
        Some((created, id)) => {
            artifact.created < *created || artifact.created == *created && artifact.id > *id
        }
        None => true,
    });
    let rest: Vec<Artifact> = rest.collect();
    let next = (rest.len() > PAGE_SIZE)
        .then(|| format!("{}.{}", rest[PAGE_SIZE - 1].created, rest[PAGE_SIZE - 1].id));
    Ok(ResourcePage { resources: rest.into_iter().take(PAGE_SIZE).map(link).collect(), next })
}

fn parse_cursor(cursor: &str) -> Result<(u64, String), Fault> {
    let position =
        cursor.split_once('.').and_then(|(created, id)| Some((created.parse().ok()?, id.to_owned())));
    position.ok_or_else(|| Fault::invalid("invalid cursor").hint("List without a cursor."))
}

fn link(artifact: Artifact) -> ResourceLink {
    ResourceLink {
        uri: uri(&artifact.id),
        title: artifact.tool.map(|tool| format!("Result of {tool}")),
        description: artifact.summary.map(|summary| StoredSummary::read(&summary).to_one_line()),
        mime_type: Some(artifact.mime_type),
        size: Some(artifact.size),
        name: artifact.id,
    }
}

pub(crate) fn read(_: &Params, address: &str) -> Result<Vec<EmbeddedResource>, Fault> {
    let artifact = stored_artifact(address)?;
    let text = artifacts::read(&artifact.id, &Part::Whole)?.text;
    let mime_type = Some(artifact.mime_type);
    let resource = |uri, mime_type, text| EmbeddedResource {
        uri,
        mime_type,
        body: ResourceBody::Text(text),
        meta: None,
    };
    // The structured data of the reply is stored next to the text.
    let has_data = artifact.size > text.len() as u64;
    let mut contents = vec![resource(uri(&artifact.id), mime_type, text)];
    let view = has_data.then(|| artifacts::view(&artifact.id)).transpose()?;
    if let Some(view) = view
        && let Some(data) = view.data
    {
        let json = view.whole.unwrap_or(data.json);
        contents.push(resource(format!("{}#data", uri(&artifact.id)), Some("application/json".into()), json));
    }
    Ok(contents)
}

/// A result changes only once: when it expires.
pub(crate) fn changes_in(_: &Params, address: &str) -> Result<Option<u64>, Fault> {
    let artifact = stored_artifact(address)?;
    Ok(artifact.expires.map(|end| end.saturating_sub(context::now())))
}

fn stored_artifact(address: &str) -> Result<Artifact, Fault> {
    let artifact = artifacts::info(&[artifact_id(address).to_owned()])?.into_iter().next().flatten();
    artifact
        .ok_or_else(|| Fault::not_found(format!("no result is stored at '{address}'; it may have expired")))
}

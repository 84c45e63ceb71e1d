//! Stored results as resources: `gatehouse://artifact/{id}`.

use gatehouse_sdk::{
    EmbeddedResource, Fault, ResourceBody, ResourceLink, ResourcePage, Template,
    artifacts::{self, Artifact, Filter, Part},
    context,
};

use crate::{Params, address, filter::summary::StoredSummary};

/// The host's limit per request.
const MAX_LISTED: u32 = 100;

const PAGE_SIZE: usize = 50;

pub(crate) fn templates(_: &Params) -> Result<Vec<Template>, Fault> {
    Ok(vec![Template {
        uri_template: address::TEMPLATE.into(),
        name: "artifact".into(),
        title: Some("A stored result".into()),
        description: Some("The full result of an earlier call.".into()),
        mime_type: None,
    }])
}

pub(crate) fn list(_: &Params, cursor: Option<&str>) -> Result<ResourcePage, Fault> {
    let after = cursor.map(parse_cursor).transpose()?;
    let mut all = artifacts::recent(&Filter { tags: Vec::new(), words: String::new() }, MAX_LISTED)?;
    all.sort_by(|a, b| b.created.cmp(&a.created).then_with(|| a.id.cmp(&b.id)));
    // The cursor is a position in the order, not an index, so changes since the last page do not shift it.
    let rest = all.into_iter().filter(|artifact| match &after {
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
    let place = cursor.split_once('.').and_then(|(created, id)| Some((created.parse().ok()?, id.to_owned())));
    place.ok_or_else(|| {
        Fault::invalid("invalid cursor").hint("List without a cursor.")
    })
}

fn link(artifact: Artifact) -> ResourceLink {
    ResourceLink {
        uri: address::from_id(&artifact.id),
        title: artifact.tool.map(|tool| format!("Result of {tool}")),
        description: artifact.summary.map(|summary| StoredSummary::read(&summary).to_one_line()),
        mime_type: Some(artifact.mime_type),
        size: Some(artifact.size),
        name: artifact.id,
    }
}

pub(crate) fn read(_: &Params, uri: &str) -> Result<Vec<EmbeddedResource>, Fault> {
    let id = address::id(uri);
    let known = artifacts::info(&[id.to_owned()])?.into_iter().next().flatten();
    let artifact = known.ok_or_else(|| missing(uri))?;
    let text = artifacts::read(id, &Part::Whole)?.text;
    let mime_type = Some(artifact.mime_type);
    Ok(vec![EmbeddedResource { uri: address::from_id(id), mime_type, body: ResourceBody::Text(text) }])
}

/// A result changes only once: when it expires.
pub(crate) fn changes_in(_: &Params, uri: &str) -> Result<Option<u64>, Fault> {
    let id = address::id(uri);
    let known = artifacts::info(&[id.to_owned()])?.into_iter().next().flatten();
    let artifact = known.ok_or_else(|| missing(uri))?;
    Ok(artifact.expires.map(|end| end.saturating_sub(context::now())))
}

fn missing(uri: &str) -> Fault {
    Fault::not_found(format!("no result is stored at '{uri}'; it may have expired"))
}

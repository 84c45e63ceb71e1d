//! The required export `tools` and the shared types: calls, manifests, replies, faults.

use std::sync::Arc;

use gatehouse_core::{
    InvalidValue, budget::ByteBudget, effect, icon, json::JsonReader, outcome, source::Listing,
    tool::ToolSpec,
};
use serde_json::{Map, Value};

use super::gatehouse::gate::types;
use crate::{abi::ToolCall, capability};

impl types::Host for crate::state::State {}

records! {
    ToolCall => types::Call { id, tool, arguments, params, caller, preset, deadline_ms, meta };
    types::Fault => outcome::Fault { kind, message, hint, retryable };
    outcome::Fault => types::Fault { kind, message, hint, retryable };
    types::Media => outcome::MediaData { data, mime_type };
    outcome::MediaData => types::Media { data, mime_type };
    outcome::ResourceLink => types::ResourceLink { uri, name, title, description, mime_type, size };
    types::Icon => icon::Icon { src, sizes } [] (theme);
    icon::Icon => types::Icon { src, sizes } [] (theme);
}

enums! {
    types::FaultKind => outcome::FaultKind {
        InvalidArguments, NotFound, Denied, Unavailable, TimedOut, Exhausted, Internal
    }
    types::Intent => effect::Intent { Query, Analyze, Generate, Modify, Execute }
    types::Effect => effect::Effect { ReadOnly, Mutating, ExternalExec }
    effect::Effect => types::Effect { ReadOnly, Mutating, ExternalExec }
    types::IconTheme => icon::IconTheme { Light, Dark }
    icon::IconTheme => types::IconTheme { Light, Dark }
    types::ResourceBody => outcome::ResourceBody { Text(text), Blob(data) }
    outcome::ResourceBody => types::ResourceBody { Text(text), Blob(data) }
}

impl From<types::ResourceLink> for outcome::ResourceLink {
    fn from(link: types::ResourceLink) -> Self {
        let types::ResourceLink { uri, name, title, description, mime_type, size } = link;
        Self { uri, name, title, description, mime_type, size, extra: Map::new() }
    }
}

impl From<outcome::EmbeddedResource> for types::EmbeddedResource {
    fn from(resource: outcome::EmbeddedResource) -> Self {
        let outcome::EmbeddedResource { uri, mime_type, body, meta } = resource;
        Self { uri, mime_type, body: body.into(), meta: meta.map(|meta| Value::Object(meta).to_string()) }
    }
}

impl From<outcome::FaultKind> for types::FaultKind {
    fn from(kind: outcome::FaultKind) -> Self {
        use outcome::FaultKind as From;
        match kind {
            From::InvalidArguments => Self::InvalidArguments,
            From::NotFound | From::UnknownTool => Self::NotFound,
            From::Denied => Self::Denied,
            From::Unavailable => Self::Unavailable,
            From::TimedOut => Self::TimedOut,
            From::Exhausted => Self::Exhausted,
            From::Internal => Self::Internal,
        }
    }
}

/// Converts a manifest. The error names the JSON text that does not parse.
pub(super) fn listing(manifest: types::Manifest, budget: &ByteBudget) -> Result<Listing, InvalidValue> {
    let mut reader = JsonReader::new(budget);
    let params_schema = Arc::new(object(&mut reader, &manifest.params_schema, "params-schema")?);
    let tools = manifest
        .tools
        .into_iter()
        .map(|declaration| tool(&mut reader, declaration))
        .collect::<Result<_, _>>()?;
    Ok(Listing {
        name: manifest.name,
        version: manifest.version,
        summary: manifest.summary,
        params_schema,
        tools,
        ..Listing::default()
    })
}

fn tool(reader: &mut JsonReader, tool: types::Tool) -> Result<Arc<ToolSpec>, InvalidValue> {
    let named = |field: &str| format!("{field} of tool '{}'", gatehouse_core::names::quoted(&tool.name, 64));
    let input_schema = Arc::new(object(reader, &tool.input_schema, &named("input-schema"))?);
    let output_schema = tool
        .output_schema
        .as_ref()
        .map(|text| object(reader, text, &named("output-schema")).map(Arc::new))
        .transpose()?;
    let meta =
        tool.meta.as_ref().map(|text| object(reader, text, &named("meta")).map(Arc::new)).transpose()?;
    Ok(Arc::new(ToolSpec {
        name: tool.name.into(),
        title: tool.title,
        description: tool.description,
        input_schema,
        output_schema,
        intent: tool.intent.into(),
        effect: tool.effect.into(),
        idempotent: tool.idempotent,
        open_world: tool.open_world,
        dry_run: tool.dry_run,
        additive: tool.additive,
        meta,
        icons: tool.icons.into_iter().map(Into::into).collect(),
    }))
}

/// Converts a reply. The error names the JSON text that does not parse.
pub(super) fn reply(reply: types::Reply, budget: &ByteBudget) -> Result<outcome::Reply, InvalidValue> {
    let mut reader = JsonReader::new(budget);
    Ok(outcome::Reply {
        content: reply
            .content
            .into_iter()
            .map(|block| content(&mut reader, block))
            .collect::<Result<_, _>>()?,
        structured: reply
            .structured
            .map(|text| reader.parse(&text).map_err(|reason| format!("structured reply {reason}")))
            .transpose()?,
        is_error: reply.is_error,
        meta: reply.meta.map(|text| object(&mut reader, &text, "meta of the reply")).transpose()?,
    })
}

pub(super) fn content(
    reader: &mut JsonReader,
    content: types::Content,
) -> Result<outcome::ContentPart, InvalidValue> {
    Ok(match content {
        types::Content::Text(text) => outcome::ContentPart::Text(text),
        types::Content::Image(image) => outcome::ContentPart::Image(image.into()),
        types::Content::Audio(audio) => outcome::ContentPart::Audio(audio.into()),
        types::Content::Link(link) => outcome::ContentPart::Link(link.into()),
        types::Content::Embedded(inner) => outcome::ContentPart::Embedded(resource(reader, inner)?),
        types::Content::Other(text) => outcome::ContentPart::Other(object(reader, &text, "content block")?),
    })
}

/// Converts the parts of a resource. The error names the JSON text that does not parse.
pub(super) fn resources(
    parts: Vec<types::EmbeddedResource>,
    budget: &ByteBudget,
) -> Result<Vec<outcome::EmbeddedResource>, InvalidValue> {
    let mut reader = JsonReader::new(budget);
    parts.into_iter().map(|part| resource(&mut reader, part)).collect()
}

fn resource(
    reader: &mut JsonReader,
    part: types::EmbeddedResource,
) -> Result<outcome::EmbeddedResource, InvalidValue> {
    let meta = part.meta.map(|text| object(reader, &text, "meta of the resource")).transpose()?;
    Ok(outcome::EmbeddedResource { uri: part.uri, mime_type: part.mime_type, body: part.body.into(), meta })
}

fn object(reader: &mut JsonReader, text: &str, what: &str) -> Result<Map<String, Value>, InvalidValue> {
    Ok(capability::object(what, reader.parse(text))?)
}

//! What every gate exports, and the nouns of all interfaces: calls, manifests, replies, faults.

use std::sync::Arc;

use gatehouse_core::{budget::ByteBudget, effect, json::Reader, outcome, source::Listing, tool::ToolSpec};
use serde_json::{Map, Value};

use super::gatehouse::gate::types;
use crate::abi::ToolCall;

impl types::Host for crate::state::State {}

impl From<ToolCall> for types::Call {
    fn from(call: ToolCall) -> Self {
        let ToolCall { id, tool, arguments, params, caller, preset, deadline_ms } = call;
        Self { id, tool, arguments, params, caller, preset, deadline_ms }
    }
}

impl From<outcome::Fault> for types::Fault {
    fn from(fault: outcome::Fault) -> Self {
        use outcome::FaultKind as From;
        use types::FaultKind as To;
        let kind = match fault.kind {
            From::InvalidArguments => To::InvalidArguments,
            From::NotFound | From::UnknownTool => To::NotFound,
            From::Denied => To::Denied,
            From::Unavailable => To::Unavailable,
            From::TimedOut => To::TimedOut,
            From::Exhausted => To::Exhausted,
            From::Internal => To::Internal,
        };
        Self { kind, message: fault.message, hint: fault.hint, retryable: fault.retryable }
    }
}

impl From<types::Fault> for outcome::Fault {
    fn from(fault: types::Fault) -> Self {
        use outcome::FaultKind as To;
        use types::FaultKind as From;
        let kind = match fault.kind {
            From::InvalidArguments => To::InvalidArguments,
            From::NotFound => To::NotFound,
            From::Denied => To::Denied,
            From::Unavailable => To::Unavailable,
            From::TimedOut => To::TimedOut,
            From::Exhausted => To::Exhausted,
            From::Internal => To::Internal,
        };
        Self { kind, message: fault.message, hint: fault.hint, retryable: fault.retryable }
    }
}

/// A manifest as core knows it. The error says which JSON text does not parse.
pub(in crate::abi) fn listing(manifest: types::Manifest, budget: &ByteBudget) -> Result<Listing, String> {
    let mut reader = Reader::new(budget);
    let params_schema = Arc::new(object(&mut reader, &manifest.params_schema, "params-schema")?);
    let tools = manifest.tools.into_iter().map(|each| tool(&mut reader, each)).collect::<Result<_, _>>()?;
    Ok(Listing {
        name: manifest.name,
        version: manifest.version,
        summary: manifest.summary,
        params_schema,
        tools,
        removed: Default::default(),
    })
}

fn tool(reader: &mut Reader, tool: types::Tool) -> Result<Arc<ToolSpec>, String> {
    let named = |what: &str| format!("{what} of tool '{}'", gatehouse_core::names::quoted(&tool.name, 64));
    let input_schema = Arc::new(object(reader, &tool.input_schema, &named("input-schema"))?);
    let output_schema = tool
        .output_schema
        .as_ref()
        .map(|text| object(reader, text, &named("output-schema")).map(Arc::new))
        .transpose()?;
    let intent = match tool.intent {
        types::Intent::Query => effect::Intent::Query,
        types::Intent::Analyze => effect::Intent::Analyze,
        types::Intent::Generate => effect::Intent::Generate,
        types::Intent::Modify => effect::Intent::Modify,
        types::Intent::Execute => effect::Intent::Execute,
    };
    let effect = match tool.effect {
        types::Effect::ReadOnly => effect::Effect::ReadOnly,
        types::Effect::Mutating => effect::Effect::Mutating,
        types::Effect::ExternalExec => effect::Effect::ExternalExec,
    };
    Ok(Arc::new(ToolSpec {
        name: tool.name.into(),
        title: tool.title,
        description: tool.description,
        input_schema,
        output_schema,
        intent,
        effect,
        idempotent: tool.idempotent,
        open_world: tool.open_world,
        dry_run: tool.dry_run,
    }))
}

/// A reply as core knows it. The error says which JSON text does not parse.
pub(in crate::abi) fn reply(reply: types::Reply, budget: &ByteBudget) -> Result<outcome::Reply, String> {
    let mut reader = Reader::new(budget);
    Ok(outcome::Reply {
        content: reply
            .content
            .into_iter()
            .map(|block| content(&mut reader, block))
            .collect::<Result<_, _>>()?,
        structured: reply
            .structured
            .map(|text| object(&mut reader, &text, "structured reply"))
            .transpose()?,
        is_error: reply.is_error,
    })
}

fn content(reader: &mut Reader, content: types::Content) -> Result<outcome::Content, String> {
    let media = |media: types::Media| outcome::Media { data: media.data, mime_type: media.mime_type };
    Ok(match content {
        types::Content::Text(text) => outcome::Content::Text(text),
        types::Content::Image(image) => outcome::Content::Image(media(image)),
        types::Content::Audio(audio) => outcome::Content::Audio(media(audio)),
        types::Content::Link(link) => outcome::Content::Link(outcome::ResourceLink {
            uri: link.uri,
            name: link.name,
            title: link.title,
            description: link.description,
            mime_type: link.mime_type,
            size: link.size,
        }),
        types::Content::Embedded(resource) => outcome::Content::Embedded(outcome::EmbeddedResource {
            uri: resource.uri,
            mime_type: resource.mime_type,
            body: match resource.body {
                types::ResourceBody::Text(text) => outcome::ResourceBody::Text(text),
                types::ResourceBody::Blob(data) => outcome::ResourceBody::Blob(data),
            },
        }),
        types::Content::Other(text) => outcome::Content::Other(object(reader, &text, "content block")?),
    })
}

fn object(reader: &mut Reader, text: &str, what: &str) -> Result<Map<String, Value>, String> {
    match reader.parse(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(format!("{what} is not a JSON object")),
        Err(why) => Err(format!("{what} {why}")),
    }
}

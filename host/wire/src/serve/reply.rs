//! Conversion of outcomes to MCP results.

use std::sync::Arc;

use base64::{
    Engine,
    engine::general_purpose::{GeneralPurpose, STANDARD},
};
use gatehouse_core::{
    Catalog, ContentPart, Fault, FaultKind, Outcome, Reply,
    catalog::ToolEntry,
    outcome::{MediaData, ResourceBody},
};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations},
};
use serde_json::{Map, Value, json};

use super::icons;
pub use super::reply_data::StructuredMode;

pub(crate) const BASE64: GeneralPurpose = STANDARD;

const FAULT_KEY: &str = "gatehouse/error";

/// Prefix of `_meta` keys reserved for the host.
const OWN_PREFIX: &str = "gatehouse/";

/// Returns the `tools/list` result for clients since 2026-07-28, sorted by name. The same catalog gives the same bytes.
pub fn tools(catalog: &Catalog) -> Vec<Tool> {
    tools_with(catalog, StructuredMode::for_client(catalog, None, true))
}

/// Like [`tools`], with output schemas according to `data`.
pub(super) fn tools_with(catalog: &Catalog, data: StructuredMode) -> Vec<Tool> {
    catalog.entries().iter().filter(|entry| entry.listed).map(|entry| tool(entry, data)).collect()
}

fn tool(entry: &ToolEntry, data: StructuredMode) -> Tool {
    let spec = &entry.spec;
    let hints = entry.annotations();
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    let mut tool = Tool::new(entry.name.to_string(), spec.description.clone(), spec.schema_for_clients())
        .with_annotations(annotations);
    if let Some(title) = &spec.title {
        tool = tool.with_title(title.clone());
    }
    tool.icons = icons::to_mcp(&spec.icons);
    tool.meta = spec.meta.as_ref().and_then(|meta| without_own_meta((**meta).clone())).map(MetaObject);
    match entry.client_output_schema() {
        Some(schema) if data.has_schema(schema) => tool.with_raw_output_schema(Arc::clone(schema)),
        _ => tool,
    }
}

/// Converts an outcome to a result, or to a protocol error if the tool is unknown.
pub(super) fn result(outcome: Outcome, data: StructuredMode) -> Result<CallToolResult, ErrorData> {
    match outcome.and_then(|reply| success(reply, data)) {
        Ok(result) => Ok(result),
        // The specification requires an error here.
        Err(fault) if fault.kind == FaultKind::UnknownTool => {
            Err(ErrorData::invalid_params(fault.message, None))
        }
        Err(fault) => Ok(failure(fault)),
    }
}

/// Converts an outcome to the JSON that an MCP client would get.
pub fn call_result(outcome: Outcome, data: StructuredMode) -> Value {
    match result(outcome, data) {
        Ok(result) => json!(result),
        Err(error) => json!({ "error": error }),
    }
}

fn success(reply: Reply, wanted: StructuredMode) -> Result<CallToolResult, Fault> {
    let mut blocks = reply.content.into_iter().map(block).collect::<Result<Vec<_>, _>>()?;
    if let Some(data) = reply.structured.as_ref().filter(|_| blocks.is_empty()) {
        // Without this, most models would see an empty reply.
        blocks.push(ContentBlock::text(data.to_string()));
    }
    let mut result = CallToolResult::success(blocks);
    // Omitted on errors: clients validate it against the output schema and would show that failure instead.
    result.structured_content = reply.structured.filter(|data| wanted.has(data) && !reply.is_error);
    result.is_error = Some(reply.is_error);
    result.meta = reply.meta.and_then(without_own_meta).map(MetaObject);
    Ok(result)
}

/// Removes keys reserved for the host.
fn without_own_meta(mut meta: Map<String, Value>) -> Option<Map<String, Value>> {
    meta.retain(|key, _| !key.starts_with(OWN_PREFIX));
    (!meta.is_empty()).then_some(meta)
}

/// Converts a fault to a tool result, since clients hide protocol errors from models.
///
/// The text is complete, for models; `_meta` is structured, for programs. It is not structured content, because clients
/// would validate that against the output schema.
fn failure(fault: Fault) -> CallToolResult {
    let kind = fault.kind.error_type();
    let text = match &fault.hint {
        Some(hint) => format!("{} [{kind}]\n{hint}", fault.message),
        None => format!("{} [{kind}]", fault.message),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.meta = Some(MetaObject(Map::from_iter([(FAULT_KEY.to_owned(), fault_to_json(&fault))])));
    result
}

pub(super) fn fault_to_json(fault: &Fault) -> Value {
    json!({
        "type": fault.kind.error_type(),
        "message": fault.message,
        "recoverable": fault.retryable,
        "suggestion": fault.hint,
    })
}

pub(super) fn fault_data(fault: &Fault, uri: Option<&str>) -> Value {
    Value::Object(present([("uri", uri.map(Into::into)), (FAULT_KEY, Some(fault_to_json(fault)))]))
}

pub(super) fn block(content: ContentPart) -> Result<ContentBlock, Fault> {
    let media = |kind: &str, media: MediaData| json!({ "type": kind, "data": BASE64.encode(media.data), "mimeType": media.mime_type });
    let value = match content {
        ContentPart::Text(text) => return Ok(ContentBlock::text(text)),
        ContentPart::Image(image) => media("image", image),
        ContentPart::Audio(audio) => media("audio", audio),
        ContentPart::Link(link) => Value::Object(present([
            ("type", Some("resource_link".into())),
            ("uri", Some(link.uri.into())),
            ("name", Some(link.name.into())),
            ("title", link.title.map(Into::into)),
            ("description", link.description.map(Into::into)),
            ("mimeType", link.mime_type.map(Into::into)),
            ("size", link.size.map(Into::into)),
        ])),
        ContentPart::Embedded(resource) => {
            let body = match resource.body {
                ResourceBody::Text(text) => ("text", Some(text.into())),
                ResourceBody::Blob(data) => ("blob", Some(BASE64.encode(data).into())),
            };
            let inner = present([
                ("uri", Some(resource.uri.into())),
                ("mimeType", resource.mime_type.map(Into::into)),
                body,
            ]);
            json!({ "type": "resource", "resource": inner })
        }
        ContentPart::Other(block) => Value::Object(block),
    };
    serde_json::from_value(value)
        .map_err(|error| Fault::internal(format!("the tool sent an invalid content block: {error}")))
}

fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

#[cfg(test)]
mod tests {
    use gatehouse_core::outcome::{EmbeddedResource, ResourceLink};

    use super::*;

    fn wire(outcome: Outcome) -> Value {
        serde_json::to_value(result(outcome, StructuredMode::Any).expect("a result")).expect("JSON")
    }

    #[test]
    fn a_fault_is_a_result_that_names_the_next_step() {
        let fault = Fault::not_found("Page not found: 'x'").hint("Try search_knowledge.");
        let value = wire(Err(fault));
        assert_eq!(value["isError"], true);
        assert_eq!(value["content"][0]["text"], "Page not found: 'x' [MCP_ERROR]\nTry search_knowledge.");
        assert!(value.get("structuredContent").is_none(), "{value}");
        assert_eq!(
            value["_meta"][FAULT_KEY],
            json!({"type": "MCP_ERROR", "message": "Page not found: 'x'", "recoverable": false, "suggestion": "Try search_knowledge."})
        );
    }

    #[test]
    fn an_unknown_tool_is_a_protocol_error() {
        let fault = Fault::new(FaultKind::UnknownTool, "Unknown tool: 'x'.");
        assert_eq!(result(Err(fault), StructuredMode::None).expect_err("an error").code.0, -32602);
    }

    #[test]
    fn data_goes_to_clients_that_want_it_and_never_with_an_error() {
        let reply = |content: Vec<ContentPart>, is_error| {
            Ok(Reply { content, structured: Some(json!({"n": 1})), is_error, meta: None })
        };
        let text = || vec![ContentPart::Text("one".into())];
        let sent = |outcome, structured| {
            let result = result(outcome, structured).expect("a result");
            let text = result.content[0].as_text().expect("text").text.clone();
            (text, result.structured_content.is_some())
        };
        for wanted in [StructuredMode::Any, StructuredMode::Objects] {
            assert_eq!(sent(reply(text(), false), wanted), ("one".into(), true));
            assert_eq!(sent(reply(text(), true), wanted), ("one".into(), false));
        }
        assert_eq!(sent(reply(text(), false), StructuredMode::None), ("one".into(), false));
        let alone = sent(reply(vec![], false), StructuredMode::None);
        assert_eq!(alone, ("{\"n\":1}".into(), false), "data alone is shown");
        let list = || Ok(Reply { structured: Some(json!([1, 2])), ..Reply::default() });
        assert_eq!(sent(list(), StructuredMode::Any), ("[1,2]".into(), true));
        assert_eq!(
            sent(list(), StructuredMode::Objects),
            ("[1,2]".into(), false),
            "older versions support only objects"
        );
    }

    #[test]
    fn every_block_arrives_as_it_was_sent() {
        let other =
            json!({"type": "text", "text": "hi", "annotations": {"audience": ["user"], "priority": 0.5}});
        let reply = Reply {
            content: vec![
                ContentPart::Text("plain".into()),
                ContentPart::Image(MediaData { data: vec![1, 2, 3], mime_type: "image/png".into() }),
                ContentPart::Audio(MediaData { data: vec![4], mime_type: "audio/wav".into() }),
                ContentPart::Link(ResourceLink {
                    uri: "gatehouse://artifact/art-1".into(),
                    name: "art-1".into(),
                    title: None,
                    description: None,
                    mime_type: Some("text/plain".into()),
                    size: Some(12),
                }),
                ContentPart::Embedded(EmbeddedResource {
                    uri: "test://e".into(),
                    mime_type: None,
                    body: ResourceBody::Blob(vec![255]),
                }),
                ContentPart::Other(other.as_object().cloned().unwrap_or_default()),
            ],
            structured: None,
            is_error: false,
            meta: json!({"example.com/n": [1], FAULT_KEY: "no fault"}).as_object().cloned(),
        };
        let value = wire(Ok(reply));
        let blocks = value["content"].as_array().expect("blocks");
        assert_eq!(blocks[1], json!({"type": "image", "data": "AQID", "mimeType": "image/png"}));
        assert_eq!(blocks[2]["data"], "BA==");
        assert_eq!(blocks[3]["size"], 12);
        assert_eq!(blocks[4]["resource"], json!({"uri": "test://e", "blob": "/w=="}));
        assert_eq!(blocks[5], other);
        assert_eq!(value["_meta"], json!({"example.com/n": [1]}), "keys reserved for the host are removed");
    }
}

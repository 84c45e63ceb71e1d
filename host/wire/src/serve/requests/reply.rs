//! Conversion of outcomes to MCP results.

use std::sync::Arc;

use base64::{
    Engine,
    engine::general_purpose::{GeneralPurpose, STANDARD},
};
use gatehouse_core::{
    Catalog, ContentPart, Fault, FaultKind, Outcome, Reply,
    catalog::ToolEntry,
    icon::{Icon, IconTheme},
    json,
    outcome::{MediaData, ResourceBody},
    preset::StructuredOutputMode,
    reply_view,
    surface::ToolSurface,
};
use rmcp::{
    ErrorData, RoleServer,
    model::{self, CallToolResult, ContentBlock, MetaObject, Tool, ToolAnnotations},
    service::RequestContext,
};
use serde_json::{Map, Value, json};

use super::interactive_request::is_since_2026;
use crate::serve::client_table;

pub(crate) const BASE64: GeneralPurpose = STANDARD;

const FAULT_KEY: &str = "gatehouse/error";

/// Key of `_meta` that makes clients load a tool at once, if they load others when they need them.
const LOAD_KEY: &str = "anthropic/alwaysLoad";

/// Key of `_meta` for the longest result that a client shows its model, in characters.
const MAX_RESULT_KEY: &str = "anthropic/maxResultSizeChars";

/// Prefix of `_meta` keys reserved for the host.
const OWN_PREFIX: &str = "gatehouse/";

/// Structured content and output schemas to send to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StructuredMode {
    None,
    /// Objects only, the limit before 2026-07-28.
    Objects,
    Any,
}

impl StructuredMode {
    /// Returns the mode for a client. `client` is its `clientInfo.name`.
    ///
    /// The name is unknown in sessions from before a restart. They get structured content, because clients that cached
    /// the schemas fail without it.
    pub(crate) fn for_client(catalog: &Catalog, client: Option<&str>, since_2026: bool) -> Self {
        let wants = match catalog.structured {
            StructuredOutputMode::Off => false,
            StructuredOutputMode::On => true,
            StructuredOutputMode::Auto => client.is_some_and(client_table::reads_data),
        };
        match (wants, since_2026) {
            (false, _) => Self::None,
            (true, false) => Self::Objects,
            (true, true) => Self::Any,
        }
    }

    pub(crate) fn for_request(catalog: &Catalog, context: &RequestContext<RoleServer>) -> Self {
        let client = context.client_info();
        let name = client.as_ref().map(|client| client.name.as_str());
        Self::for_client(catalog, name, is_since_2026(context))
    }

    /// Returns the mode for a tool with an interface, which shows the data, if the client has interfaces.
    pub(crate) fn for_interface(self) -> Self {
        if self == Self::None { Self::Objects } else { self }
    }

    /// Returns the mode for programs that do not use MCP.
    pub fn for_programs(catalog: &Catalog) -> Self {
        if catalog.structured == StructuredOutputMode::Off { Self::None } else { Self::Any }
    }

    pub(crate) fn has(self, data: &Value) -> bool {
        self == Self::Any || (self == Self::Objects && data.is_object())
    }

    pub(crate) fn has_schema(self, schema: &Map<String, Value>) -> bool {
        let is_object = || schema.get("type").and_then(Value::as_str) == Some("object");
        self == Self::Any || (self == Self::Objects && is_object())
    }
}

/// Returns the `tools/list` result for clients since 2026-07-28, sorted by name. The same catalog gives the same bytes.
pub fn tools(catalog: &Catalog) -> Vec<Tool> {
    tools_for(catalog, None)
}

/// Like [`tools`], for the client with this `clientInfo.name`.
pub fn tools_for(catalog: &Catalog, client: Option<&str>) -> Vec<Tool> {
    let surface = client_table::surface(catalog, client);
    let max_result = client.and_then(client_table::max_result_chars);
    tools_with(catalog, StructuredMode::for_client(catalog, client, true), surface, false, max_result)
}

/// Like [`tools`], with output schemas according to `data`, and with tools that only interfaces call if the client has
/// them. `max_result` is from [`client_table::max_result_chars`].
pub(crate) fn tools_with(
    catalog: &Catalog,
    data: StructuredMode,
    surface: ToolSurface,
    has_apps: bool,
    max_result: Option<u32>,
) -> Vec<Tool> {
    let is_listed = |entry: &&Arc<ToolEntry>| has_apps || entry.spec.is_for_models();
    let tool = |entry: &Arc<ToolEntry>| tool(entry, data, has_apps, max_result);
    surface.tools(catalog).filter(is_listed).map(tool).collect()
}

fn tool(entry: &ToolEntry, data: StructuredMode, has_apps: bool, max_result: Option<u32>) -> Tool {
    let spec = &entry.spec;
    let has_interface = has_apps && spec.has_interface();
    let data = if has_interface { data.for_interface() } else { data };
    let hints = entry.annotations();
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    let mut tool = Tool::new(entry.name.to_string(), spec.description.clone(), spec.schema_for_clients())
        .with_annotations(annotations);
    tool.title.clone_from(&spec.title);
    tool.icons = icons_to_mcp(&spec.icons);
    let mut meta = spec.meta.as_ref().and_then(|meta| without_own_meta((**meta).clone()));
    if entry.pinned {
        meta.get_or_insert_default().insert(LOAD_KEY.to_owned(), Value::Bool(true));
    }
    // A filter shortens what is too long. The rest, such as the content of files, is to arrive as it is.
    if let Some(max_result) = max_result.filter(|_| !entry.filters.is_empty()) {
        meta.get_or_insert_default().insert(MAX_RESULT_KEY.to_owned(), max_result.into());
    }
    tool.meta = meta.map(MetaObject);
    match entry.client_output_schema(has_interface) {
        Some(schema) if data.has_schema(schema) => tool.with_raw_output_schema(Arc::clone(schema)),
        _ => tool,
    }
}

/// Converts an outcome to a result, or to a protocol error if the tool is unknown.
pub(crate) fn result(outcome: Outcome, data: StructuredMode) -> Result<CallToolResult, ErrorData> {
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

fn success(reply: Reply, mode: StructuredMode) -> Result<CallToolResult, Fault> {
    let is_read = |data: &Value| mode.has(data) && !reply.is_error;
    let data = reply.structured.as_ref().and_then(|data| match reply.content.is_empty() {
        // Without this, most models would see an empty reply.
        true => Some(data.to_string()),
        false if is_read(data) => None,
        false => reply_view::data_apart(&reply),
    });
    let structured = reply.structured.as_ref().is_some_and(is_read);
    let mut blocks = reply.content.into_iter().map(block).collect::<Result<Vec<_>, _>>()?;
    blocks.extend(data.map(ContentBlock::text));
    let mut result = CallToolResult::success(blocks);
    // Omitted on errors: clients validate it against the output schema and would show that failure instead.
    result.structured_content = reply.structured.filter(|_| structured);
    result.is_error = Some(reply.is_error);
    result.meta = reply.meta.and_then(without_own_meta).map(MetaObject);
    Ok(result)
}

/// Removes keys reserved for the host.
pub(crate) fn without_own_meta(mut meta: Map<String, Value>) -> Option<Map<String, Value>> {
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

pub(crate) fn fault_to_json(fault: &Fault) -> Value {
    json!({
        "type": fault.kind.error_type(),
        "message": fault.message,
        "recoverable": fault.retryable,
        "suggestion": fault.hint,
    })
}

/// Converts a fault to a protocol error, for requests whose result cannot be an error. `uri` is the resource that was
/// requested; rmcp maps its "not found" code to the one of the client's version.
pub(crate) fn fault_to_error(fault: &Fault, uri: Option<&str>) -> ErrorData {
    let data =
        Value::Object(present([("uri", uri.map(Into::into)), (FAULT_KEY, Some(fault_to_json(fault)))]));
    let (message, data) = (fault.in_one_line(), Some(data));
    match fault.kind {
        FaultKind::NotFound if uri.is_some() => ErrorData::resource_not_found(message, data),
        FaultKind::InvalidArguments | FaultKind::NotFound => ErrorData::invalid_params(message, data),
        _ => ErrorData::internal_error(message, data),
    }
}

pub(crate) fn block(content: ContentPart) -> Result<ContentBlock, Fault> {
    let media = |kind: &str, media: MediaData| json!({ "type": kind, "data": BASE64.encode(media.data), "mimeType": media.mime_type });
    let value = match content {
        ContentPart::Text(text) => return Ok(ContentBlock::text(text)),
        ContentPart::Image(image) => media("image", image),
        ContentPart::Audio(audio) => media("audio", audio),
        ContentPart::Link(link) => present([
            ("type", Some("resource_link".into())),
            ("uri", Some(link.uri.into())),
            ("name", Some(link.name.into())),
            ("title", link.title.map(Into::into)),
            ("description", link.description.map(Into::into)),
            ("mimeType", link.mime_type.map(Into::into)),
            ("size", link.size.map(Into::into)),
        ])
        .into_iter()
        .chain(link.extra)
        .collect(),
        ContentPart::Embedded(resource) => {
            let body = match resource.body {
                ResourceBody::Text(text) => ("text", Some(text.into())),
                ResourceBody::Blob(data) => ("blob", Some(BASE64.encode(data).into())),
            };
            let inner = present([
                ("uri", Some(resource.uri.into())),
                ("mimeType", resource.mime_type.map(Into::into)),
                body,
                ("_meta", resource.meta.and_then(without_own_meta).map(Value::Object)),
            ]);
            json!({ "type": "resource", "resource": inner })
        }
        ContentPart::Other(block) => Value::Object(block),
    };
    json::from_value(value)
        .map_err(|error| Fault::internal(format!("the tool sent an invalid content block: {error}")))
}

fn present<const N: usize>(members: [(&str, Option<Value>); N]) -> Map<String, Value> {
    members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Converts icons. Clients before 2025-11-25 ignore them.
pub(crate) fn icons_to_mcp(icons: &[Icon]) -> Option<Vec<model::Icon>> {
    let converted = icons.iter().filter_map(|icon| {
        let mut converted = model::Icon::new(&icon.src).with_mime_type(icon.check().ok()?);
        converted.sizes = (!icon.sizes.is_empty()).then(|| icon.sizes.clone());
        converted.theme = icon.theme.map(|theme| match theme {
            IconTheme::Light => model::IconTheme::Light,
            IconTheme::Dark => model::IconTheme::Dark,
        });
        Some(converted)
    });
    let converted: Vec<_> = converted.collect();
    (!converted.is_empty()).then_some(converted)
}

#[cfg(test)]
mod tests;

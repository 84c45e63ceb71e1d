//! Conversion of rmcp types to core types. Content without an equivalent in core is passed through unchanged.

use std::sync::Arc;

use base64::Engine as _;
use gatehouse_core::{
    ContentPart, Effect, Intent, Reply,
    icon::{Icon, IconTheme, MAX_ICONS},
    outcome::{EmbeddedResource, MediaData, ResourceBody, ResourceLink},
    prompt::{Prompt, PromptArgument, PromptMessage, PromptRole},
    resource::UriTemplate,
    source::Listing,
    tool::ToolSpec,
};
use rmcp::model::{self, CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::{Map, Value, json};

use super::peer::{SERVER_INFO, ServerInfo};
use crate::serve::{BASE64, icons_to_mcp};

const MAX_INSTRUCTIONS: usize = 8_000;

pub(super) fn listing(info: &ServerInfo) -> Listing {
    let no_params = json!({"type": "object", "additionalProperties": false, "properties": {}});
    Listing {
        name: info.name.clone(),
        version: info.version.clone(),
        summary: info.instructions.trim().chars().take(MAX_INSTRUCTIONS).collect(),
        params_schema: Arc::new(no_params.as_object().cloned().unwrap_or_default()),
        ..Listing::default()
    }
}

/// Converts a tool. Missing annotations get the defaults of MCP: not read-only, destructive, open world.
pub(super) fn tool(tool: Tool) -> ToolSpec {
    let hints = tool.annotations.unwrap_or_default();
    let open_world = hints.open_world_hint.unwrap_or(true);
    let read_only = hints.read_only_hint.unwrap_or(false);
    let effect = match (read_only, hints.destructive_hint.unwrap_or(true), open_world) {
        (true, ..) => Effect::ReadOnly,
        (false, false, false) => Effect::Mutating,
        (false, ..) => Effect::ExternalExec,
    };
    ToolSpec {
        name: tool.name.as_ref().into(),
        title: tool.title.or(hints.title),
        description: tool.description.map(Into::into).unwrap_or_default(),
        input_schema: with_type(without_nulls(tool.input_schema)),
        output_schema: tool.output_schema.map(without_nulls),
        intent: Intent::for_effect(effect),
        effect,
        idempotent: read_only || hints.idempotent_hint.unwrap_or(false),
        open_world,
        dry_run: None,
        additive: !hints.destructive_hint.unwrap_or(true),
        meta: tool.meta.and_then(|meta| super::tool_meta::cleaned(meta.0)).map(Arc::new),
        icons: icons(tool.icons),
    }
}

/// Adds the type that many servers leave out and clients require.
fn with_type(mut schema: Arc<Map<String, Value>>) -> Arc<Map<String, Value>> {
    if schema.get("type").is_none_or(Value::is_null) {
        Arc::make_mut(&mut schema).insert("type".into(), json!("object"));
    }
    schema
}

/// Removes keywords that are null: clients that check lists would drop the whole list for them.
fn without_nulls(mut schema: Arc<Map<String, Value>>) -> Arc<Map<String, Value>> {
    if schema.iter().any(|(keyword, value)| has_null_keyword(keyword, value)) {
        remove_null_keywords(Arc::make_mut(&mut schema));
    }
    schema
}

fn has_null_keyword(keyword: &str, value: &Value) -> bool {
    match value {
        Value::Null => !DATA_KEYWORDS[..3].contains(&keyword),
        _ if DATA_KEYWORDS.contains(&keyword) => false,
        Value::Array(items) => {
            items.iter().filter(|item| !item.is_null()).any(|item| has_null_keyword("", item))
        }
        Value::Object(members) => members.iter().any(|(key, value)| has_null_keyword(key, value)),
        _ => false,
    }
}

fn remove_null_keywords(schema: &mut Map<String, Value>) {
    schema.retain(|keyword, value| !value.is_null() || DATA_KEYWORDS[..3].contains(&keyword.as_str()));
    for (keyword, value) in schema {
        match value {
            _ if DATA_KEYWORDS.contains(&keyword.as_str()) => {}
            Value::Array(items) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(remove_null_keywords);
            }
            Value::Object(members) => remove_null_keywords(members),
            _ => {}
        }
    }
}

/// Keywords whose values are data. The first three may be null.
const DATA_KEYWORDS: [&str; 5] = ["const", "default", "example", "enum", "examples"];

/// Converts icons, and drops those that clients must not be shown.
fn icons(icon_list: Option<Vec<model::Icon>>) -> Vec<Icon> {
    let icons = icon_list.into_iter().flatten().map(|icon| Icon {
        src: icon.src,
        sizes: icon.sizes.unwrap_or_default(),
        theme: icon.theme.and_then(|theme| match theme {
            model::IconTheme::Light => Some(IconTheme::Light),
            model::IconTheme::Dark => Some(IconTheme::Dark),
            _ => None,
        }),
    });
    icons.filter(|icon| icon.check().is_ok()).take(MAX_ICONS).collect()
}

pub(super) fn resource_template(listed: model::ResourceTemplate) -> UriTemplate {
    UriTemplate {
        uri_template: listed.uri_template,
        name: listed.name,
        title: listed.title,
        description: listed.description,
        mime_type: listed.mime_type,
    }
}

pub(crate) fn resource_link(listed: model::Resource) -> ResourceLink {
    let icons: Vec<_> = icons_to_mcp(&icons(listed.icons)).into_iter().flatten().collect();
    let extra = [
        ("annotations", listed.annotations.map(|annotations| json!(annotations))),
        ("icons", (!icons.is_empty()).then(|| json!(icons))),
        ("_meta", listed.meta.map(|meta| Value::Object(meta.0))),
    ];
    ResourceLink {
        extra: extra.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
        uri: listed.uri,
        name: listed.name,
        title: listed.title,
        description: listed.description,
        mime_type: listed.mime_type,
        size: listed.size,
    }
}

pub(super) fn prompt(listed: model::Prompt) -> Prompt {
    let argument = |listed: model::PromptArgument| PromptArgument {
        name: listed.name,
        description: listed.description.or(listed.title),
        required: listed.required.unwrap_or(false),
    };
    Prompt {
        name: listed.name.into(),
        title: listed.title,
        description: listed.description,
        arguments: listed.arguments.unwrap_or_default().into_iter().map(argument).collect(),
        icons: icons(listed.icons),
    }
}

pub(super) fn prompt_message(message: model::PromptMessage) -> PromptMessage {
    let role = match message.role {
        model::Role::Assistant => PromptRole::Assistant,
        _ => PromptRole::User,
    };
    PromptMessage { role, content: content(message.content) }
}

pub(super) fn reply(result: CallToolResult) -> Reply {
    Reply {
        content: result.content.into_iter().map(content).collect(),
        structured: result.structured_content,
        is_error: result.is_error.unwrap_or(false),
        meta: result.meta.and_then(|meta| without_server_info(meta.0)),
    }
}

/// Converts resource contents. `None` if the base64 is invalid.
pub(crate) fn resource(contents: ResourceContents) -> Option<EmbeddedResource> {
    let (uri, mime_type, body, meta) = match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, meta } => {
            (uri, mime_type, ResourceBody::Text(text), meta)
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, meta } => {
            (uri, mime_type, ResourceBody::Blob(BASE64.decode(blob).ok()?), meta)
        }
        _ => return None,
    };
    Some(EmbeddedResource { uri, mime_type, body, meta: meta.map(|meta| meta.0) })
}

/// Removes the name of the server from the `_meta` of a result: for the client, the host is the server.
fn without_server_info(mut meta: Map<String, Value>) -> Option<Map<String, Value>> {
    let is_named = meta.shift_remove(SERVER_INFO).is_some();
    (!is_named || !meta.is_empty()).then_some(meta)
}

/// Converts a content block. A block with annotations, `_meta` or invalid base64 is passed through unchanged.
fn content(block: ContentBlock) -> ContentPart {
    let media = |data: &str, mime_type: &str| {
        let data = BASE64.decode(data).ok()?;
        Some(MediaData { data, mime_type: mime_type.to_owned() })
    };
    match block {
        ContentBlock::Text(text) if text.meta.is_none() && text.annotations.is_none() => {
            ContentPart::Text(text.text)
        }
        block => {
            let plain = match &block {
                ContentBlock::Image(image) if image.meta.is_none() && image.annotations.is_none() => {
                    media(&image.data, &image.mime_type).map(ContentPart::Image)
                }
                ContentBlock::Audio(audio) if audio.meta.is_none() && audio.annotations.is_none() => {
                    media(&audio.data, &audio.mime_type).map(ContentPart::Audio)
                }
                ContentBlock::Resource(inner) if inner.meta.is_none() && inner.annotations.is_none() => {
                    resource(inner.resource.clone()).map(ContentPart::Embedded)
                }
                ContentBlock::ResourceLink(link) => link_part(link),
                _ => None,
            };
            plain.unwrap_or_else(|| ContentPart::Other(whole(block)))
        }
    }
}

/// Converts a link. `None` if it has members that gates do not get.
fn link_part(link: &model::Resource) -> Option<ContentPart> {
    let link = resource_link(link.clone());
    link.extra.is_empty().then_some(ContentPart::Link(link))
}

fn whole(mut block: ContentBlock) -> Map<String, Value> {
    if let ContentBlock::ResourceLink(link) = &mut block {
        link.icons = icons_to_mcp(&icons(link.icons.take()));
    }
    match serde_json::to_value(block) {
        Ok(Value::Object(block)) => block,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests;

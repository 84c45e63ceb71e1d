//! Mapping between a server's resource URIs and those that clients see. The latter include the server's name, so that
//! they are unique.

use std::sync::Arc;

use gatehouse_core::{
    ContentPart, ToolSpec,
    resource::{MAX_URI_BYTES, UriTemplate},
};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::{Map, Value};

use super::tool_meta::ADDRESS_KEYS;

/// Characters to escape, and `%` to reverse that. Some servers list URIs with spaces.
const ESCAPED_CHARS: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'%')
    .add(b'{')
    .add(b'}')
    .add(b'<')
    .add(b'>')
    .add(b'"')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'|');

/// Marks an escaped URI. No plain URI starts with it.
const ESCAPE_PREFIX: char = '~';

/// Scheme of interfaces (MCP Apps). Clients recognize an interface by it, so mapped URIs keep it.
pub(super) const APP_SCHEME: &str = "ui://";

/// Scheme of agent skills, which mapped URIs keep: a client finds the files of a skill relative to its URI.
const SKILL_SCHEME: &str = "skill://";

pub(super) struct UriMapper {
    prefix: String,
    app_prefix: String,
    skill_prefix: String,
    /// Template of all URIs but those of interfaces and skills.
    pub(super) family: UriTemplate,
    /// Template of the URIs of interfaces.
    pub(super) app_family: UriTemplate,
    /// Template of the URIs of skills.
    pub(super) skill_family: UriTemplate,
}

impl UriMapper {
    pub(super) fn new(server: &str) -> Self {
        let prefixes = ["gatehouse://", APP_SCHEME, SKILL_SCHEME];
        let [prefix, app_prefix, skill_prefix] = prefixes.map(|scheme| format!("{scheme}server/{server}/"));
        let template = |prefix: &str, description: String| UriTemplate {
            uri_template: format!("{prefix}{{+uri}}"),
            name: server.to_owned(),
            title: None,
            description: Some(description),
            mime_type: None,
        };
        Self {
            family: template(&prefix, format!("Resources of server '{server}', by their own URI.")),
            app_family: template(&app_prefix, format!("Interfaces of server '{server}'.")),
            skill_family: template(&skill_prefix, format!("Skills of server '{server}'.")),
            prefix,
            app_prefix,
            skill_prefix,
        }
    }

    /// Returns the prefix of a URI or template of the server when it is mapped, and the part that follows the prefix.
    fn split<'a>(&self, uri: &'a str) -> (&str, &'a str) {
        let prefixes = [(APP_SCHEME, self.app_prefix.as_str()), (SKILL_SCHEME, self.skill_prefix.as_str())];
        let mut matches =
            prefixes.into_iter().filter_map(|(scheme, prefix)| Some((prefix, uri.strip_prefix(scheme)?)));
        matches.next().filter(|(_, rest)| !rest.is_empty()).unwrap_or((&self.prefix, uri))
    }

    /// Maps a URI of the server to what clients see. `None` if it is empty or too long.
    pub(super) fn to_exposed(&self, uri: &str) -> Option<String> {
        let (prefix, rest) = self.split(uri);
        let plain = rest.chars().all(|c| c.is_ascii_graphic() && !"{}<>\"\\^`|".contains(c))
            && !rest.starts_with(ESCAPE_PREFIX);
        let exposed = if plain { format!("{prefix}{rest}") } else { escaped(prefix, rest) };
        (!uri.is_empty() && exposed.len() <= MAX_URI_BYTES).then_some(exposed)
    }

    /// Maps the URI of a content. That of a file of a skill does not get the scheme of skills: it is not checked.
    pub(super) fn to_exposed_content(&self, uri: &str) -> Option<String> {
        if !uri.starts_with(SKILL_SCHEME) {
            return self.to_exposed(uri);
        }
        Some(escaped(&self.prefix, uri)).filter(|exposed| exposed.len() <= MAX_URI_BYTES)
    }

    /// Returns the server's own URI. `None` for other URIs.
    pub(super) fn to_upstream(&self, uri: &str) -> Option<String> {
        let prefixes =
            [(APP_SCHEME, &self.app_prefix), (SKILL_SCHEME, &self.skill_prefix), ("", &self.prefix)];
        let mut matches = prefixes
            .into_iter()
            .filter_map(|(scheme, prefix)| Some((scheme, uri.strip_prefix(prefix.as_str())?)));
        let (scheme, rest) = matches.next()?;
        match rest.strip_prefix(ESCAPE_PREFIX) {
            _ if rest.is_empty() => None,
            Some(written) => Some(format!("{scheme}{}", percent_decode_str(written).decode_utf8().ok()?)),
            None => Some(format!("{scheme}{rest}")),
        }
    }

    pub(super) fn template(&self, template: UriTemplate) -> UriTemplate {
        let (prefix, rest) = self.split(&template.uri_template);
        UriTemplate { uri_template: format!("{prefix}{rest}"), ..template }
    }

    /// Maps the address of a tool's interface in its `_meta`. Returns the same tool if it has none.
    pub(super) fn map_tool(&self, tool: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let mut meta = tool.meta.as_deref().cloned().unwrap_or_default();
        let mut changed = false;
        for address in app_addresses(&mut meta) {
            let uri = address.as_str().filter(|uri| uri.starts_with(APP_SCHEME));
            if let Some(exposed) = uri.and_then(|uri| self.to_exposed(uri)) {
                *address = exposed.into();
                changed = true;
            }
        }
        match changed {
            true => Arc::new(ToolSpec { meta: Some(Arc::new(meta)), ..ToolSpec::clone(tool) }),
            false => Arc::clone(tool),
        }
    }

    /// Maps the URIs of links and embedded resources. Web URLs stay, because clients open them directly.
    pub(super) fn map(&self, content: &mut ContentPart) {
        let map = |uri: &mut String, is_content: bool| {
            let on_the_web = uri.starts_with("http://") || uri.starts_with("https://");
            let exposed = || if is_content { self.to_exposed_content(uri) } else { self.to_exposed(uri) };
            if !on_the_web && let Some(exposed) = exposed() {
                *uri = exposed;
            }
        };
        match content {
            ContentPart::Link(link) => map(&mut link.uri, false),
            ContentPart::Embedded(resource) => map(&mut resource.uri, true),
            ContentPart::Other(block) => {
                let place = match block.get("type").and_then(Value::as_str) {
                    Some("resource_link") => (block.get_mut("uri"), false),
                    Some("resource") => {
                        (block.get_mut("resource").and_then(|inner| inner.get_mut("uri")), true)
                    }
                    _ => (None, false),
                };
                if let (Some(Value::String(uri)), is_content) = place {
                    map(uri, is_content);
                }
            }
            ContentPart::Text(_) | ContentPart::Image(_) | ContentPart::Audio(_) => {}
        }
    }
}

fn escaped(prefix: &str, rest: &str) -> String {
    format!("{prefix}{ESCAPE_PREFIX}{}", utf8_percent_encode(rest, ESCAPED_CHARS))
}

/// Returns the members of a tool's `_meta` that hold the address of an interface.
fn app_addresses(meta: &mut Map<String, Value>) -> impl Iterator<Item = &mut Value> {
    meta.iter_mut().filter_map(|(key, value)| match key.as_str() {
        "ui" => value.get_mut("resourceUri"),
        key => ADDRESS_KEYS.contains(&key).then_some(value),
    })
}

#[cfg(test)]
mod tests;

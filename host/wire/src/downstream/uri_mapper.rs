//! Mapping between a server's resource URIs and those that clients see. The latter include the server's name, so that
//! they are unique.

use std::borrow::Cow;

use gatehouse_core::{
    ContentPart,
    resource::{MAX_URI_BYTES, UriTemplate},
};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use serde_json::Value;

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

pub(super) struct UriMapper {
    prefix: String,
}

impl UriMapper {
    pub(super) fn new(server: &str) -> Self {
        Self { prefix: format!("gatehouse://server/{server}/") }
    }

    pub(super) fn family(&self, server: &str) -> UriTemplate {
        UriTemplate {
            uri_template: format!("{}{{+uri}}", self.prefix),
            name: server.to_owned(),
            title: None,
            description: Some(format!("Resources of server '{server}', by their own URI.")),
            mime_type: None,
        }
    }

    /// Maps a URI of the server to what clients see. `None` if it is empty or too long.
    pub(super) fn to_exposed(&self, uri: &str) -> Option<String> {
        let plain = uri.chars().all(|c| c.is_ascii_graphic() && !"{}<>\"\\^`|".contains(c))
            && !uri.starts_with(ESCAPE_PREFIX);
        let uri = match plain {
            true => Cow::from(uri),
            false => Cow::from(format!("{ESCAPE_PREFIX}{}", utf8_percent_encode(uri, ESCAPED_CHARS))),
        };
        let exposed = format!("{}{uri}", self.prefix);
        (!uri.is_empty() && exposed.len() <= MAX_URI_BYTES).then_some(exposed)
    }

    /// Returns the server's own URI. `None` for other URIs.
    pub(super) fn to_upstream(&self, uri: &str) -> Option<String> {
        let uri = uri.strip_prefix(&self.prefix).filter(|uri| !uri.is_empty())?;
        match uri.strip_prefix(ESCAPE_PREFIX) {
            Some(written) => Some(percent_decode_str(written).decode_utf8().ok()?.into_owned()),
            None => Some(uri.to_owned()),
        }
    }

    pub(super) fn template(&self, template: UriTemplate) -> UriTemplate {
        UriTemplate { uri_template: format!("{}{}", self.prefix, template.uri_template), ..template }
    }

    /// Maps the URIs of links and embedded resources. Web URLs stay, because clients open them directly.
    pub(super) fn map(&self, content: &mut ContentPart) {
        let map = |uri: &mut String| {
            let on_the_web = uri.starts_with("http://") || uri.starts_with("https://");
            if !on_the_web && let Some(exposed) = self.to_exposed(uri) {
                *uri = exposed;
            }
        };
        match content {
            ContentPart::Link(link) => map(&mut link.uri),
            ContentPart::Embedded(resource) => map(&mut resource.uri),
            ContentPart::Other(block) => {
                let place = match block.get("type").and_then(Value::as_str) {
                    Some("resource_link") => block.get_mut("uri"),
                    Some("resource") => block.get_mut("resource").and_then(|inner| inner.get_mut("uri")),
                    _ => None,
                };
                if let Some(Value::String(uri)) = place {
                    map(uri);
                }
            }
            ContentPart::Text(_) | ContentPart::Image(_) | ContentPart::Audio(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;

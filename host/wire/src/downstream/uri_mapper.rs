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
mod tests {
    use gatehouse_core::outcome::ResourceLink;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_address_comes_back_as_it_was() {
        let addresses = UriMapper::new("notes");
        let family = addresses.family("notes");
        assert_eq!(family.check(), Ok(()));
        for uri in [
            "memo://one",
            "file:///a%20b?x=1#y",
            "memo://My Note",
            "memo://\u{e4}/{id}",
            "~odd",
            "100%",
            "%7E",
            "a\u{202e}b\n",
        ] {
            let exposed = addresses.to_exposed(uri).expect("short enough");
            assert!(family.matches(&exposed), "{exposed}");
            assert_eq!(addresses.to_upstream(&exposed).as_deref(), Some(uri));
        }
        assert_eq!(
            addresses.to_exposed("memo://one").as_deref(),
            Some("gatehouse://server/notes/memo://one")
        );
        assert_eq!(addresses.to_exposed(""), None);
        assert_eq!(addresses.to_exposed(&"x".repeat(MAX_URI_BYTES)), None);
        for foreign in [
            "memo://one",
            "gatehouse://server/note/x",
            "gatehouse://server/notes/",
            "gatehouse://server/notes/~%ff",
        ] {
            assert_eq!(addresses.to_upstream(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn what_a_family_makes_is_an_address_of_the_server() {
        let addresses = UriMapper::new("files");
        let own = UriTemplate { uri_template: "file:///{+path}".into(), ..addresses.family("files") };
        let template = addresses.template(own);
        assert_eq!(template.check(), Ok(()));
        let uri = "gatehouse://server/files/file:///a/b%20c";
        assert!(template.matches(uri));
        assert_eq!(addresses.to_upstream(uri).as_deref(), Some("file:///a/b%20c"));
    }

    #[test]
    fn links_lead_to_what_can_be_read_here() {
        let addresses = UriMapper::new("s");
        let link = |uri: &str| {
            let mut content = ContentPart::Link(ResourceLink {
                uri: uri.into(),
                name: "x".into(),
                title: None,
                description: None,
                mime_type: None,
                size: None,
            });
            addresses.map(&mut content);
            match content {
                ContentPart::Link(link) => link.uri,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(link("memo://1"), "gatehouse://server/s/memo://1");
        assert_eq!(link("https://example.com/1"), "https://example.com/1");
        let noted = json!({"type": "resource", "resource": {"uri": "memo://2", "text": "", "_meta": {}}});
        let mut noted = ContentPart::Other(noted.as_object().cloned().expect("an object"));
        addresses.map(&mut noted);
        assert!(
            matches!(noted, ContentPart::Other(block) if block["resource"]["uri"] == "gatehouse://server/s/memo://2")
        );
    }
}

//! Conversions for the `catalog` interface: entries, and replies on their way to the gate that called.

use gatehouse_core::{catalog, effect::Effect, outcome};
use serde_json::Value;

use super::gatehouse::gate::{catalog as wit, types};

impl From<&catalog::Entry> for wit::Entry {
    fn from(entry: &catalog::Entry) -> Self {
        Self {
            name: entry.name.to_string(),
            source: entry.id.source.name().into(),
            title: entry.spec.title.clone(),
            description: entry.spec.description.clone(),
            effect: match entry.spec.effect {
                Effect::ReadOnly => types::Effect::ReadOnly,
                Effect::Mutating => types::Effect::Mutating,
                Effect::ExternalExec => types::Effect::ExternalExec,
            },
        }
    }
}

impl From<outcome::Reply> for types::Reply {
    fn from(reply: outcome::Reply) -> Self {
        Self {
            content: reply.content.into_iter().map(Into::into).collect(),
            structured: reply.structured.map(|data| Value::Object(data).to_string()),
            is_error: reply.is_error,
        }
    }
}

impl From<outcome::Media> for types::Media {
    fn from(media: outcome::Media) -> Self {
        Self { data: media.data, mime_type: media.mime_type }
    }
}

impl From<outcome::Content> for types::Content {
    fn from(content: outcome::Content) -> Self {
        match content {
            outcome::Content::Text(text) => Self::Text(text),
            outcome::Content::Image(image) => Self::Image(image.into()),
            outcome::Content::Audio(audio) => Self::Audio(audio.into()),
            outcome::Content::Link(link) => Self::Link(types::ResourceLink {
                uri: link.uri,
                name: link.name,
                title: link.title,
                description: link.description,
                mime_type: link.mime_type,
                size: link.size,
            }),
            outcome::Content::Embedded(resource) => Self::Embedded(types::EmbeddedResource {
                uri: resource.uri,
                mime_type: resource.mime_type,
                body: match resource.body {
                    outcome::ResourceBody::Text(text) => types::ResourceBody::Text(text),
                    outcome::ResourceBody::Blob(data) => types::ResourceBody::Blob(data),
                },
            }),
            outcome::Content::Other(block) => Self::Other(Value::Object(block).to_string()),
        }
    }
}

//! What a call ends in: a [`Reply`] or a [`Fault`], together an [`Outcome`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Why something could not be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The caller's preset has no such tool. Only the host says so, before any gate is asked.
    UnknownTool,
    /// The arguments do not make sense.
    InvalidArguments,
    /// What the arguments name does not exist.
    NotFound,
    /// A preset, a grant or a policy forbids it.
    Denied,
    /// An engine, a model or a server cannot be reached.
    Unavailable,
    /// It took too long.
    TimedOut,
    /// A limit was hit.
    Exhausted,
    /// A mistake in a gate or in the host.
    Internal,
}

impl FaultKind {
    /// In a word, as it is serialized.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown-tool",
            Self::InvalidArguments => "invalid-arguments",
            Self::NotFound => "not-found",
            Self::Denied => "denied",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed-out",
            Self::Exhausted => "exhausted",
            Self::Internal => "internal",
        }
    }

    /// The `type` that clients see in the text of an error and in its `_meta`. `MCP_ERROR` is the tool's own failure:
    /// it was reached, it ran, and it could not do what it was asked.
    pub const fn error_type(self) -> &'static str {
        match self {
            Self::InvalidArguments | Self::UnknownTool => "VALIDATION",
            Self::Denied => "PERMISSION",
            Self::Unavailable => "UNAVAILABLE",
            Self::TimedOut => "TIMEOUT",
            Self::NotFound | Self::Exhausted => "MCP_ERROR",
            Self::Internal => "UNKNOWN",
        }
    }
}

/// A failure that names its subject and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Fault {
    /// Why.
    pub kind: FaultKind,
    /// What happened to which thing.
    pub message: String,
    /// The next step.
    pub hint: Option<String>,
    /// Whether the same call may succeed later, unchanged.
    pub retryable: bool,
}

impl Fault {
    /// A fault of this kind; retryable where the kind usually passes by itself.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut);
        Self { kind, message: message.into(), hint: None, retryable }
    }
    /// The arguments make no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidArguments, message)
    }
    /// The thing named does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }
    /// It is forbidden.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Denied, message)
    }
    /// Something that is needed cannot be reached.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Unavailable, message)
    }
    /// A limit was hit.
    pub fn exhausted(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Exhausted, message)
    }
    /// A mistake in a gate or the host.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Internal, message)
    }
    /// Adds the next step.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// What happened and the next step in one line, for people at a terminal.
    pub fn in_one_line(&self) -> String {
        let Some(hint) = &self.hint else { return self.message.clone() };
        let stop = if self.message.ends_with(['.', '?', '!']) { "" } else { "." };
        format!("{}{stop} {hint}", self.message)
    }
}

/// Bytes with their media type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaData {
    /// The bytes, not encoded; base64 where they are serialized.
    #[serde(with = "base64_text")]
    pub data: Vec<u8>,
    /// For example `image/png`.
    pub mime_type: String,
}

/// A pointer to a resource that the client may read on its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLink {
    /// Where it is.
    pub uri: String,
    /// Its name for programs.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it holds.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
}

/// What an embedded resource holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, not encoded; base64 where they are serialized.
    Blob(#[serde(with = "base64_text")] Vec<u8>),
}

/// A resource inside a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    /// Its address.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its text or bytes.
    pub body: ResourceBody,
}

/// One block of a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentPart {
    /// Text, markdown as a rule.
    Text(String),
    /// A picture.
    Image(MediaData),
    /// A sound.
    Audio(MediaData),
    /// A pointer.
    Link(ResourceLink),
    /// A resource, whole.
    Embedded(EmbeddedResource),
    /// An MCP content block that travels as it is.
    Other(Map<String, Value>),
}

impl ContentPart {
    /// Bytes of its text or media, for the log.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Image(media) | Self::Audio(media) => media.data.len(),
            Self::Embedded(resource) => resource.bytes(),
            Self::Link(link) => link.uri.len(),
            Self::Other(_) => 0,
        }
    }
}

impl EmbeddedResource {
    /// Bytes of what it holds.
    pub fn bytes(&self) -> usize {
        match &self.body {
            ResourceBody::Text(text) => text.len(),
            ResourceBody::Blob(data) => data.len(),
        }
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reply {
    /// For reading.
    pub content: Vec<ContentPart>,
    /// The same as data: any JSON, which clients before 2026-07-28 get only where it is an object.
    pub structured: Option<Value>,
    /// The tool ran, and what it says is an error in its own words.
    pub is_error: bool,
    /// The protocol's `_meta`: what it says to programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl Reply {
    /// Bytes of its text and media, for the log; structured data, which repeats them, is not counted.
    pub fn bytes(&self) -> usize {
        self.content.iter().map(ContentPart::bytes).sum()
    }

    /// Bytes of its text alone.
    pub fn text_bytes(&self) -> usize {
        let text = self.content.iter().map(|content| match content {
            ContentPart::Text(text) => text.len(),
            ContentPart::Embedded(EmbeddedResource { body: ResourceBody::Text(text), .. }) => text.len(),
            _ => 0,
        });
        text.sum()
    }
}

/// Reply or fault.
pub type Outcome = Result<Reply, Fault>;

/// Bytes as base64 text: JSON would write them as a list of numbers.
mod base64_text {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        STANDARD.decode(String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_is_read_back_as_it_was_written() {
        let media = |mime: &str| MediaData { data: (0..=255).collect(), mime_type: mime.into() };
        let object = |value: serde_json::Value| value.as_object().cloned().expect("an object");
        let link = ResourceLink {
            uri: "file:///x".into(),
            name: "x".into(),
            title: Some("X".into()),
            description: None,
            mime_type: Some("text/plain".into()),
            size: Some(u64::MAX),
        };
        let embedded = |body| EmbeddedResource { uri: "file:///y".into(), mime_type: None, body };
        let reply = Reply {
            content: vec![
                ContentPart::Text("text \u{202e}\n\0".into()),
                ContentPart::Image(media("image/png")),
                ContentPart::Audio(media("audio/wav")),
                ContentPart::Link(link),
                ContentPart::Embedded(embedded(ResourceBody::Text("inside".into()))),
                ContentPart::Embedded(embedded(ResourceBody::Blob(vec![0, 255]))),
                ContentPart::Other(object(json!({"type": "new", "z": null, "a": [1, {"b": true}]}))),
            ],
            structured: Some(json!({
                "z": 1, "a": {}, "largest": u64::MAX, "least": i64::MIN,
                "floats": [0.1, 1.0, -0.0, 5e-324, f64::MAX, 123_456.789_012_345_67, 2.225_073_858_507_201_4e-308,
                    0.3 - 0.1, 1.0 / 3.0, 8.533e68, 4.1006e-184, 9.007_199_254_740_993e15],
            })),
            is_error: true,
            meta: Some(object(json!({"example.com/trace": "1"}))),
        };
        let text = serde_json::to_string(&reply).expect("written");
        let read: Reply = serde_json::from_str(&text).expect("read");
        assert_eq!(read, reply);
        assert_eq!(serde_json::to_string(&read).expect("written"), text, "the order of members too");
        let empty = Reply::default();
        let text = serde_json::to_string(&empty).expect("written");
        assert_eq!(serde_json::from_str::<Reply>(&text).expect("read"), empty);
    }
}

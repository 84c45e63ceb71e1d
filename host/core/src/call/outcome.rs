//! Results of calls: a [`Reply`] or a [`Fault`], together an [`Outcome`].

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::util::enum_words;

/// Category of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// The preset has no such tool. Only the host reports this, before it calls a gate.
    UnknownTool,
    InvalidArguments,
    /// Something that the arguments name does not exist.
    NotFound,
    /// A preset, grant or policy forbids it.
    Denied,
    /// An engine, model or server cannot be reached.
    Unavailable,
    TimedOut,
    Exhausted,
    /// A bug in a gate or in the host.
    Internal,
}

enum_words! { FaultKind {
    UnknownTool: "unknown-tool", InvalidArguments: "invalid-arguments", NotFound: "not-found", Denied: "denied",
    Unavailable: "unavailable", TimedOut: "timed-out", Exhausted: "exhausted", Internal: "internal",
} }

impl FaultKind {
    /// Returns the `type` that clients see in the error text and its `_meta`. `MCP_ERROR` means that the tool ran and
    /// failed.
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

/// An error that names its subject and a remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
    /// Remedy, as a sentence.
    pub hint: Option<String>,
    /// True if the same call may succeed later.
    pub retryable: bool,
}

impl Fault {
    /// Creates a fault. It is retryable if faults of this kind usually pass.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut);
        Self { kind, message: message.into(), hint: None, retryable }
    }
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidArguments, message)
    }
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Denied, message)
    }
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Unavailable, message)
    }
    pub fn exhausted(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Exhausted, message)
    }
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Internal, message)
    }
    /// Sets the remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    /// Returns the message and the hint in one line.
    pub fn in_one_line(&self) -> String {
        let Some(hint) = &self.hint else { return self.message.clone() };
        let stop = if self.message.ends_with(['.', '?', '!']) { "" } else { "." };
        format!("{}{stop} {hint}", self.message)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaData {
    /// Raw bytes; base64 when serialized.
    #[serde(with = "base64_text")]
    pub data: Vec<u8>,
    pub mime_type: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLink {
    pub uri: String,
    /// Name for programs.
    pub name: String,
    /// Name for users.
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    /// In bytes.
    pub size: Option<u64>,
    /// Further members of a server's MCP resource, unchanged: `annotations`, `icons` and `_meta`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceBody {
    Text(String),
    /// Raw bytes; base64 when serialized.
    Blob(#[serde(with = "base64_text")] Vec<u8>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbeddedResource {
    pub uri: String,
    pub mime_type: Option<String>,
    pub body: ResourceBody,
    /// The protocol's `_meta`, for programs: for an interface, its content security policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContentPart {
    /// Text, usually Markdown.
    Text(String),
    Image(MediaData),
    Audio(MediaData),
    Link(ResourceLink),
    Embedded(EmbeddedResource),
    /// Any other MCP content block, unchanged.
    Other(Map<String, Value>),
}

impl ContentPart {
    /// Returns the text of a text block or an embedded text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Embedded(EmbeddedResource { body: ResourceBody::Text(text), .. }) => Some(text),
            _ => None,
        }
    }

    /// Returns the bytes of its text or media, for logs.
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
    pub fn bytes(&self) -> usize {
        match &self.body {
            ResourceBody::Text(text) => text.len(),
            ResourceBody::Blob(data) => data.len(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reply {
    pub content: Vec<ContentPart>,
    /// The content as data: any JSON. Clients older than 2026-07-28 get it only if it is an object.
    pub structured: Option<Value>,
    pub is_error: bool,
    /// The protocol's `_meta`, for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<Map<String, Value>>,
}

impl Reply {
    /// Returns the bytes of its text and media, for logs. Structured data repeats these and is not counted.
    pub fn bytes(&self) -> usize {
        self.content.iter().map(ContentPart::bytes).sum()
    }

    pub fn text_bytes(&self) -> usize {
        self.content.iter().filter_map(ContentPart::as_text).map(str::len).sum()
    }
}

pub type Outcome = Result<Reply, Fault>;

/// Serializes bytes as base64: JSON would use a list of numbers.
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
    use crate::testing::object;

    #[test]
    fn a_reply_is_read_back_as_it_was_written() {
        let media = |mime: &str| MediaData { data: (0..=255).collect(), mime_type: mime.into() };
        let link = ResourceLink {
            uri: "file:///x".into(),
            name: "x".into(),
            title: Some("X".into()),
            description: None,
            mime_type: Some("text/plain".into()),
            size: Some(u64::MAX),
            extra: object(json!({"annotations": {"priority": 1}})),
        };
        let embedded = |body| EmbeddedResource { uri: "file:///y".into(), mime_type: None, body, meta: None };
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

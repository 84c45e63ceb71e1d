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
}

/// Bytes with their media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Media {
    /// The bytes, not encoded.
    pub data: Vec<u8>,
    /// For example `image/png`.
    pub mime_type: String,
}

/// A pointer to a resource that the client may read on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Bytes, not encoded.
    Blob(Vec<u8>),
}

/// A resource inside a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedResource {
    /// Its address.
    pub uri: String,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Its text or bytes.
    pub body: ResourceBody,
}

/// One block of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Text, markdown as a rule.
    Text(String),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A pointer.
    Link(ResourceLink),
    /// A resource, whole.
    Embedded(EmbeddedResource),
    /// An MCP content block that travels as it is.
    Other(Map<String, Value>),
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reply {
    /// For reading.
    pub content: Vec<Content>,
    /// The same as data; an object.
    pub structured: Option<Map<String, Value>>,
    /// The tool ran, and what it says is an error in its own words.
    pub is_error: bool,
}

impl Reply {
    /// Bytes of its text and media, for the log; structured data, which repeats them, is not counted.
    pub fn bytes(&self) -> usize {
        self.content
            .iter()
            .map(|block| match block {
                Content::Text(text) => text.len(),
                Content::Image(media) | Content::Audio(media) => media.data.len(),
                Content::Embedded(EmbeddedResource { body: ResourceBody::Text(text), .. }) => text.len(),
                Content::Embedded(EmbeddedResource { body: ResourceBody::Blob(data), .. }) => data.len(),
                Content::Link(link) => link.uri.len(),
                Content::Other(_) => 0,
            })
            .sum()
    }
}

/// Reply or fault.
pub type Outcome = Result<Reply, Fault>;

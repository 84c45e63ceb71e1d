//! The outcome of a call: a [`Reply`] with text and structured data, or a [`Fault`] that a user or a model can act on.

use serde::Serialize;

pub use crate::bindings::gatehouse::gate::types::{Content, Fault, FaultKind, Reply};

impl Reply {
    /// Creates a reply with one block of Markdown text.
    pub fn markdown(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], structured: None, is_error: false, meta: None }
    }

    /// Adds the same result as data, which must match the schema that the tool declares with `output`. Faults as
    /// [`to_json`] does.
    pub fn structured(mut self, data: &impl Serialize) -> Result<Self, Fault> {
        self.structured = Some(to_json(data)?);
        Ok(self)
    }

    /// Adds a block of content.
    #[must_use]
    pub fn with(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }

    /// Returns the text blocks, joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|c| match c {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl Fault {
    /// Creates a fault. Kinds that usually pass by themselves are retryable.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut);
        Self { kind, message: message.into(), hint: None, retryable }
    }

    /// Reports arguments that match the schema but make no sense.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidArguments, message)
    }

    /// Reports that something named in the arguments does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }

    /// Reports that a preset, a grant or a policy forbids the call.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Denied, message)
    }

    /// Reports an unreachable dependency.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Unavailable, message)
    }

    /// Reports a bug in the gate.
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

/// Serializes data of a reply as JSON. Faults only if `data` cannot be JSON, for example a map whose keys are not
/// strings.
pub fn to_json(data: &impl Serialize) -> Result<String, Fault> {
    serde_json::to_string(data)
        .map_err(|e| Fault::internal(format!("cannot serialize the reply as JSON: {e}")))
}

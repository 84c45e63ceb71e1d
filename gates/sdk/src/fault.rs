//! Failures in words a person or a model can act on. A fault names its subject; its hint is the next step.

pub use crate::bindings::gatehouse::gate::types::{Fault, FaultKind};

impl Fault {
    /// A fault of this kind. Retryable where the kind usually passes by itself.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let retryable = matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut);
        Self { kind, message: message.into(), hint: None, retryable }
    }

    /// The arguments do not make sense, though they match the schema.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(FaultKind::InvalidArguments, message)
    }

    /// What the arguments name does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(FaultKind::NotFound, message)
    }

    /// A preset, a grant or a policy forbids it.
    pub fn denied(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Denied, message)
    }

    /// Something that is needed cannot be reached right now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Unavailable, message)
    }

    /// A mistake in the gate.
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

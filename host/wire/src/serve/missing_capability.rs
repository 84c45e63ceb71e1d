//! Input that a call requested without the client's capability for it.
//!
//! If the call fails for this reason, clients since 2026-07-28 get an error that names the missing capability. Earlier
//! ones get the fault as a result.

use std::sync::{Arc, OnceLock};

use gatehouse_core::{Fault, Outcome, outcome::FaultKind, question::QuestionKind};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ErrorCode},
};
use serde_json::{Value, json};

use super::reply::{self, StructuredMode};

/// First such question of a call.
#[derive(Clone, Default)]
pub(super) struct MissingCapability(Arc<OnceLock<QuestionKind>>);

impl MissingCapability {
    pub(super) fn note(&self, kind: QuestionKind) {
        let _ = self.0.set(kind);
    }

    /// Converts the outcome for a client since 2026-07-28. A gate that continued without the answer fails for another
    /// reason, or succeeds.
    pub(super) fn result(&self, outcome: Outcome, data: StructuredMode) -> Result<CallToolResult, ErrorData> {
        match outcome.as_ref().err().and_then(|fault| self.error(fault)) {
            Some(error) => Err(error),
            None => reply::result(outcome, data),
        }
    }

    /// Returns the error to send for a failed prompt or resource read, if the client is one since 2026-07-28.
    pub(super) fn checked<T>(&self, since_2026: bool, made: &Result<T, Fault>) -> Result<(), ErrorData> {
        let error = made.as_ref().err().filter(|_| since_2026).and_then(|fault| self.error(fault));
        error.map_or(Ok(()), Err)
    }

    /// Returns the error that names the missing capability. `None` if the fault has another cause.
    pub(super) fn error(&self, fault: &Fault) -> Option<ErrorData> {
        let kind = self.0.get().filter(|_| fault.kind == FaultKind::Denied)?;
        Some(missing_capability_error(*kind, fault))
    }
}

fn missing_capability_error(kind: QuestionKind, fault: &Fault) -> ErrorData {
    let required = match kind {
        QuestionKind::Form => json!({"elicitation": {"form": {}}}),
        QuestionKind::Url => json!({"elicitation": {"url": {}}}),
        QuestionKind::Sampling => json!({"sampling": {}}),
    };
    let data: Value = json!({"requiredCapabilities": required});
    ErrorData::new(ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY, fault.in_one_line(), Some(data))
}

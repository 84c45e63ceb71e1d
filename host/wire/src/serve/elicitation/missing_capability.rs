//! Input that a call requested without the client's capability for it.
//!
//! If the call fails for this reason, clients since 2026-07-28 get an error that names the missing capability. Earlier
//! ones get the fault as a result.

use std::sync::{Arc, OnceLock};

use gatehouse_core::{Fault, outcome::FaultKind, question::QuestionKind};
use rmcp::{ErrorData, model::ErrorCode};
use serde_json::{Value, json};

/// First such question of a call.
#[derive(Clone)]
pub(crate) struct MissingCapability {
    since_2026: bool,
    kind: Arc<OnceLock<QuestionKind>>,
}

impl MissingCapability {
    pub(crate) fn new(since_2026: bool) -> Self {
        Self { since_2026, kind: Arc::default() }
    }

    pub(crate) fn note(&self, kind: QuestionKind) {
        let _ = self.kind.set(kind);
    }

    /// Returns the error to send to a client since 2026-07-28 if the call failed for this reason. A gate that continued
    /// without the answer fails for another reason, or succeeds.
    pub(crate) fn check<T>(&self, result: &Result<T, Fault>) -> Result<(), ErrorData> {
        match (result, self.kind.get()) {
            (Err(fault), Some(kind)) if self.since_2026 && fault.kind == FaultKind::Denied => {
                Err(missing_capability_error(*kind, fault))
            }
            _ => Ok(()),
        }
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

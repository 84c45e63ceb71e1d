//! What a call wanted to ask though its client cannot be asked that. Where it fails for that, clients since 2026-07-28 get an
//! error that names what they would have to declare; those before get its fault as a result, as of any other.

use std::sync::{Arc, OnceLock};

use gatehouse_core::{Fault, Outcome, outcome::FaultKind, question::QuestionKind};
use rmcp::{
    ErrorData,
    model::{CallToolResult, ErrorCode},
};
use serde_json::{Value, json};

use super::reply::{self, StructuredMode};

/// The first such question of one call.
#[derive(Clone, Default)]
pub(super) struct MissingCapability(Arc<OnceLock<QuestionKind>>);

impl MissingCapability {
    pub(super) fn note(&self, kind: QuestionKind) {
        let _ = self.0.set(kind);
    }

    /// What a client since 2026-07-28 gets. A gate that went on without the answer fails for something else, or not at all.
    pub(super) fn result(&self, outcome: Outcome, data: StructuredMode) -> Result<CallToolResult, ErrorData> {
        match outcome.as_ref().err().and_then(|fault| self.error(fault)) {
            Some(error) => Err(error),
            None => reply::result(outcome, data),
        }
    }

    /// The same for what is no call: an error, where the client is one since 2026-07-28.
    pub(super) fn checked<T>(&self, since_2026: bool, made: &Result<T, Fault>) -> Result<(), ErrorData> {
        let error = made.as_ref().err().filter(|_| since_2026).and_then(|fault| self.error(fault));
        error.map_or(Ok(()), Err)
    }

    /// The error that names what the client would have to declare; none where the fault has another reason.
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

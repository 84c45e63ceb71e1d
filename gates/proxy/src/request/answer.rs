//! The answer to a request: always one JSON object.

use gatehouse_sdk::{Effect, Fault, FaultKind, Reply};
use serde_json::{Map, Value, json};

use super::{
    RequestRoute,
    artifact::RequestArtifact,
    envelope::{RequestEnvelope, effect_name, intent_for},
};
use crate::reply_format;

/// Maximum characters of an invalid word in the answer.
const MAX_ECHOED_CHARS: usize = 64;

pub(super) struct RequestError {
    kind: &'static str,
    message: String,
    recoverable: bool,
    suggestion: Option<String>,
    /// A result that is included although it is not the requested type.
    pub(super) result: Option<Box<RequestArtifact>>,
}

impl RequestError {
    fn new(kind: &'static str, message: String, suggestion: Option<String>) -> Self {
        Self { kind, message, recoverable: false, suggestion, result: None }
    }

    pub(super) fn invalid(message: impl Into<String>, suggestion: impl Into<String>) -> Self {
        Self::new("VALIDATION", message.into(), Some(suggestion.into()))
    }

    pub(super) fn effect_too_strong(envelope: &RequestEnvelope, needed: Effect) -> Self {
        let (action, allowed) = (&envelope.action, effect_name(envelope.effect));
        let (needed_name, intent) = (effect_name(needed), intent_for(needed));
        let message = format!("'{action}' requires effect {needed_name}; the request allows {allowed}");
        let next = format!("If you intend this, set intent {intent} or effect {needed_name}.");
        Self::new("PERMISSION", message, Some(next))
    }

    /// Creates the error for a request or call that is out of time.
    pub(super) fn deadline_exceeded(requested_ms: u64) -> Self {
        let message = format!("the request exceeded its {requested_ms} ms, or the gate's time limit");
        let next = "Request less, or raise constraints.timeout_ms or limits.time of the gate proxy.";
        Self { recoverable: true, ..Self::new("TIMEOUT", message, Some(next.into())) }
    }

    /// Adds that the tool which checks a call is unavailable. `next` is the default suggestion.
    pub(super) fn for_check(self, tool: &str, check: &str, next: Option<String>) -> Self {
        let message = format!("cannot check '{tool}' with '{check}': {}", self.message);
        Self { message, suggestion: self.suggestion.or(next), ..self }
    }

    pub(super) fn from_tool_error(message: String) -> Self {
        Self::new("MCP_ERROR", message, None)
    }
}

impl From<Fault> for RequestError {
    fn from(fault: Fault) -> Self {
        let kind = match fault.kind {
            FaultKind::InvalidArguments => "VALIDATION",
            FaultKind::Denied => "PERMISSION",
            FaultKind::TimedOut => "TIMEOUT",
            FaultKind::NotFound | FaultKind::Unavailable | FaultKind::Exhausted => "MCP_ERROR",
            FaultKind::Internal => "UNKNOWN",
        };
        Self { recoverable: fault.retryable, ..Self::new(kind, fault.message, fault.hint) }
    }
}

/// Builds the answer for a result.
pub(super) fn success(envelope: &RequestEnvelope, result: RequestArtifact) -> Value {
    json!({
        "ok": true,
        "request": {"intent": envelope.intent, "action": envelope.action, "effect": effect_name(envelope.effect)},
        "result": result.into_json(),
    })
}

/// Builds the answer for a failure, and repeats the readable parts of the request.
pub(super) fn failure(
    sent: &Map<String, Value>,
    envelope: Option<&RequestEnvelope>,
    error: RequestError,
) -> Value {
    let word = |key: &str| {
        sent.get(key).and_then(Value::as_str).map(|word| reply_format::line(word, MAX_ECHOED_CHARS))
    };
    let effect = envelope.map(|envelope| effect_name(envelope.effect).to_owned()).or_else(|| word("effect"));
    let mut answer = json!({
        "ok": false,
        "error": {
            "type": error.kind,
            "message": error.message,
            "recoverable": error.recoverable,
            "suggestion": error.suggestion,
        },
        "request": {"intent": word("intent"), "action": word("action"), "effect": effect},
    });
    if let Some(result) = error.result {
        answer["result"] = result.into_json();
    }
    answer
}

/// Builds the reply. A failure also sets `is_error`, for clients that do not read the JSON.
pub(super) fn reply(mut answer: Value, route: &RequestRoute, duration_ms: u64) -> Reply {
    let isolation = if route.isolated { "subprocess" } else { "agent" };
    let mut meta = json!({"isolation_used": isolation, "duration_ms": duration_ms});
    if let Some(source) = &route.source {
        meta["mcp_name"] = source.as_str().into();
    }
    if let Some(reason) = &route.reason {
        meta["isolation_reason"] = reason.as_str().into();
    }
    answer["meta"] = meta;
    Reply { is_error: answer["ok"] != true, ..Reply::markdown(answer.to_string()) }
}

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
    pub(super) fn invalid(message: String, suggestion: String) -> Self {
        Self { kind: "VALIDATION", message, recoverable: false, suggestion: Some(suggestion), result: None }
    }

    pub(super) fn effect_too_strong(envelope: &RequestEnvelope, needed: Effect) -> Self {
        let (action, allowed) = (&envelope.action, effect_name(envelope.effect));
        let (needed_name, intent) = (effect_name(needed), intent_for(needed));
        Self {
            kind: "PERMISSION",
            message: format!("'{action}' requires effect {needed_name}; the request allows {allowed}"),
            recoverable: false,
            suggestion: Some(format!("If you intend this, set intent {intent} or effect {needed_name}.")),
            result: None,
        }
    }

    /// Creates the error for a request or call that is out of time.
    pub(super) fn deadline_exceeded(requested_ms: u64) -> Self {
        Self {
            kind: "TIMEOUT",
            message: format!("the request exceeded its {requested_ms} ms, or the gate's time limit"),
            recoverable: true,
            suggestion: Some(
                "Request less, or raise constraints.timeout_ms or limits.time of the gate proxy.".into(),
            ),
            result: None,
        }
    }

    /// Adds that the tool which checks a call is unavailable. `next` is the default suggestion.
    pub(super) fn for_check(self, tool: &str, check: &str, next: Option<String>) -> Self {
        let message = format!("cannot check '{tool}' with '{check}': {}", self.message);
        Self { message, suggestion: self.suggestion.or(next), ..self }
    }

    pub(super) fn from_fault(fault: Fault) -> Self {
        let kind = match fault.kind {
            FaultKind::InvalidArguments => "VALIDATION",
            FaultKind::Denied => "PERMISSION",
            FaultKind::TimedOut => "TIMEOUT",
            FaultKind::NotFound | FaultKind::Unavailable | FaultKind::Exhausted => "MCP_ERROR",
            FaultKind::Internal => "UNKNOWN",
        };
        Self {
            kind,
            message: fault.message,
            recoverable: fault.retryable,
            suggestion: fault.hint,
            result: None,
        }
    }

    pub(super) fn from_tool_error(message: String) -> Self {
        Self { kind: "MCP_ERROR", message, recoverable: false, suggestion: None, result: None }
    }
}

pub(super) struct RequestAnswer(Map<String, Value>);

impl RequestAnswer {
    pub(super) fn success(envelope: &RequestEnvelope, result: RequestArtifact) -> Self {
        Self(members(json!({
            "ok": true,
            "request": {"intent": envelope.intent, "action": envelope.action, "effect": effect_name(envelope.effect)},
            "result": result.into_json(),
        })))
    }

    /// Creates the answer for a failure, and repeats the readable parts of the request.
    pub(super) fn failure(
        sent: &Map<String, Value>,
        envelope: Option<&RequestEnvelope>,
        error: RequestError,
    ) -> Self {
        let word = |key: &str| {
            sent.get(key).and_then(Value::as_str).map(|word| reply_format::line(word, MAX_ECHOED_CHARS))
        };
        let effect =
            envelope.map(|envelope| effect_name(envelope.effect).to_owned()).or_else(|| word("effect"));
        let mut answer = members(json!({
            "ok": false,
            "error": {
                "type": error.kind,
                "message": error.message,
                "recoverable": error.recoverable,
                "suggestion": error.suggestion,
            },
            "request": {"intent": word("intent"), "action": word("action"), "effect": effect},
        }));
        if let Some(result) = error.result {
            answer.insert("result".into(), result.into_json());
        }
        Self(answer)
    }

    /// Builds the reply. A failure also sets `is_error`, for clients that do not read the JSON.
    pub(super) fn reply(mut self, route: &RequestRoute, duration_ms: u64) -> Reply {
        let isolation = if route.isolated { "subprocess" } else { "agent" };
        let mut meta = json!({"isolation_used": isolation, "duration_ms": duration_ms});
        if let Some(source) = &route.source {
            meta["mcp_name"] = source.as_str().into();
        }
        if let Some(reason) = &route.reason {
            meta["isolation_reason"] = reason.as_str().into();
        }
        self.0.insert("meta".into(), meta);
        let failed = self.0.get("ok") != Some(&Value::Bool(true));
        let mut reply = Reply::markdown(Value::Object(self.0).to_string());
        reply.is_error = failed;
        reply
    }
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

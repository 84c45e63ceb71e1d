//! What a request is answered with: one JSON object, whatever happened.

use gatehouse_sdk::{Effect, Fault, FaultKind, Reply};
use serde_json::{Map, Value, json};

use super::{
    RequestRoute,
    artifact::RequestArtifact,
    envelope::{RequestEnvelope, effect_name, intent_for},
};
use crate::reply_format;

/// The most characters of a word that is told back though it was wrong.
const MAX_ECHOED_CHARS: usize = 64;

/// Why there is no result.
pub(super) struct RequestError {
    kind: &'static str,
    message: String,
    recoverable: bool,
    suggestion: Option<String>,
    /// What came all the same, so that nothing of it is lost.
    pub(super) result: Option<Box<RequestArtifact>>,
}

impl RequestError {
    /// The request, or what came of it, is not what it has to be.
    pub(super) fn invalid(message: String, suggestion: String) -> Self {
        Self { kind: "VALIDATION", message, recoverable: false, suggestion: Some(suggestion), result: None }
    }

    /// The tool may do more than the request allows.
    pub(super) fn effect_too_strong(envelope: &RequestEnvelope, needed: Effect) -> Self {
        let (action, given) = (&envelope.action, effect_name(envelope.effect));
        let (needed_name, intent) = (effect_name(needed), intent_for(needed));
        Self {
            kind: "PERMISSION",
            message: format!("'{action}' needs the effect {needed_name}; the request allows {given}."),
            recoverable: false,
            suggestion: Some(format!("If that is meant, say intent {intent}, or effect {needed_name}.")),
            result: None,
        }
    }

    /// Nothing is left of the time of the request, or of the call that it came in.
    pub(super) fn deadline_exceeded(asked: u64) -> Self {
        Self {
            kind: "TIMEOUT",
            message: format!("The request took longer than its {asked} ms, or than the gate's limit."),
            recoverable: true,
            suggestion: Some(
                "Ask for less, or raise constraints.timeout_ms or limits.time of the gate proxy.".into(),
            ),
            result: None,
        }
    }

    /// The tool that has to check a call cannot be called. `next` is what to do, unless the fault says that.
    pub(super) fn for_check(self, tool: &str, check: &str, next: Option<String>) -> Self {
        let message =
            format!("'{check}', which has to check '{tool}' first, cannot be called: {}", self.message);
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

    /// An error in the tool's own words.
    pub(super) fn from_tool_error(message: String) -> Self {
        Self { kind: "MCP_ERROR", message, recoverable: false, suggestion: None, result: None }
    }
}

/// The object, but for how it came about.
pub(super) struct RequestAnswer(Map<String, Value>);

impl RequestAnswer {
    pub(super) fn success(envelope: &RequestEnvelope, result: RequestArtifact) -> Self {
        Self(members(json!({
            "ok": true,
            "request": {"intent": envelope.intent, "action": envelope.action, "effect": effect_name(envelope.effect)},
            "result": result.into_json(),
        })))
    }

    /// What was sent is told back as far as it can be read.
    pub(super) fn failure(
        sent: &Map<String, Value>,
        envelope: Option<&RequestEnvelope>,
        refusal: RequestError,
    ) -> Self {
        let word = |key: &str| {
            sent.get(key).and_then(Value::as_str).map(|word| reply_format::line(word, MAX_ECHOED_CHARS))
        };
        let effect =
            envelope.map(|envelope| effect_name(envelope.effect).to_owned()).or_else(|| word("effect"));
        let mut answer = members(json!({
            "ok": false,
            "error": {
                "type": refusal.kind,
                "message": refusal.message,
                "recoverable": refusal.recoverable,
                "suggestion": refusal.suggestion,
            },
            "request": {"intent": word("intent"), "action": word("action"), "effect": effect},
        }));
        if let Some(result) = refusal.result {
            answer.insert("result".into(), result.into_json());
        }
        Self(answer)
    }

    /// As the reply to the call. One that says that it failed is an error for whoever does not read it.
    pub(super) fn reply(mut self, way: &RequestRoute, duration_ms: u64) -> Reply {
        let isolation = if way.isolated { "subprocess" } else { "agent" };
        let mut meta = json!({"isolation_used": isolation, "duration_ms": duration_ms});
        if let Some(source) = &way.source {
            meta["mcp_name"] = source.as_str().into();
        }
        if let Some(reason) = &way.reason {
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

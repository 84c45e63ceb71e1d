//! The request envelope: the members that the host reads, and answers to requests that fail before their gate.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{Effect, Fault, Intent, names::quoted};

const MAX_ECHOED_CHARS: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestEnvelope {
    /// The stated intent, or a stronger one if the stated effect requires it.
    pub intent: Intent,
    /// Strongest effect that the request allows.
    pub effect: Effect,
    pub project_root: Option<String>,
    pub dry_run: bool,
}

impl RequestEnvelope {
    /// Reads the envelope. `None` if the intent or effect is invalid; the gate then rejects the request.
    pub fn read(request: &Value) -> Option<Self> {
        let intent = Intent::from_request(request["intent"].as_str()?)?;
        let effect = match &request["effect"] {
            Value::Null => intent.effect(),
            stated => Effect::from_request(stated.as_str()?)?,
        };
        let root = request["context"]["project_root"].as_str().filter(|root| !root.is_empty());
        Some(Self {
            intent: intent.at_least(effect),
            effect,
            project_root: root.map(str::to_owned),
            dry_run: request["constraints"]["dry_run"] == true,
        })
    }
}

/// Returns the members of a request that its answer repeats, shortened.
pub fn echoed_members(request: &Value) -> Value {
    let word = |key: &str| request[key].as_str().map(|word| quoted(word, MAX_ECHOED_CHARS));
    json!({"intent": word("intent"), "action": word("action"), "effect": word("effect")})
}

/// Returns the answer for a fault. `request` comes from [`echoed_members`].
pub fn fault_response(fault: &Fault, request: &Value, took: Duration) -> Value {
    // The envelope has no word for UNAVAILABLE.
    let kind = match fault.kind.error_type() {
        "UNAVAILABLE" => "MCP_ERROR",
        kind => kind,
    };
    json!({
        "ok": false,
        "error": {
            "type": kind,
            "message": fault.message,
            "recoverable": fault.retryable,
            "suggestion": fault.hint,
        },
        "request": request,
        "meta": {"isolation_used": null, "duration_ms": took.as_millis() as u64},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_effect_can_make_the_intent_stronger_and_never_weaker() {
        let read = |intent: &str, effect: Value| {
            RequestEnvelope::read(&json!({"intent": intent, "effect": effect}))
                .map(|it| (it.intent, it.effect))
        };
        assert_eq!(read("QUERY", Value::Null), Some((Intent::Query, Effect::ReadOnly)));
        assert_eq!(read("QUERY", json!("EXTERNAL_EXEC")), Some((Intent::Execute, Effect::ExternalExec)));
        assert_eq!(read("ANALYZE", json!("MUTATING")), Some((Intent::Modify, Effect::Mutating)));
        assert_eq!(read("EXECUTE", json!("READ_ONLY")), Some((Intent::Execute, Effect::ReadOnly)));
        assert_eq!(read("RUN", Value::Null), None);
        assert_eq!(read("QUERY", json!("read")), None);
        assert_eq!(read("QUERY", json!(5)), None);
        assert_eq!(RequestEnvelope::read(&json!([1])), None);
    }
}

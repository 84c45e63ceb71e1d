//! The request envelope as the host reads it: what a request says about itself, and the answer to one that did not get as far
//! as the gate that answers requests.

use std::time::Duration;

use serde_json::{Value, json};

use crate::{
    effect::{Effect, Intent},
    names::quoted,
    outcome::Fault,
};

/// Maximum characters of a word of the request that the answer repeats.
const MAX_ECHOED_CHARS: usize = 64;

/// What a request says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestClaim {
    /// Its intent, or the one that its stated effect amounts to if that is stronger.
    pub intent: Intent,
    /// The most that it allows to happen.
    pub effect: Effect,
    /// The directory of its project.
    pub project_root: Option<String>,
    /// True if nothing is to be changed.
    pub dry_run: bool,
}

impl RequestClaim {
    /// Reads the members that the host goes by. `None` if the intent or the effect is not one: then the gate refuses it.
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

/// The members of a request that its answer repeats, as far as they can be read.
pub fn echoed_members(request: &Value) -> Value {
    let word = |key: &str| request[key].as_str().map(|word| quoted(word, MAX_ECHOED_CHARS));
    json!({"intent": word("intent"), "action": word("action"), "effect": word("effect")})
}

/// Returns the answer for a fault; `request` is what [`repeated`] gives.
pub fn fault_response(fault: &Fault, request: &Value, took: Duration) -> Value {
    // The envelope has fewer words than replies have.
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
            RequestClaim::read(&json!({"intent": intent, "effect": effect})).map(|it| (it.intent, it.effect))
        };
        assert_eq!(read("QUERY", Value::Null), Some((Intent::Query, Effect::ReadOnly)));
        assert_eq!(read("QUERY", json!("EXTERNAL_EXEC")), Some((Intent::Execute, Effect::ExternalExec)));
        assert_eq!(read("ANALYZE", json!("MUTATING")), Some((Intent::Modify, Effect::Mutating)));
        assert_eq!(read("EXECUTE", json!("READ_ONLY")), Some((Intent::Execute, Effect::ReadOnly)));
        assert_eq!(read("RUN", Value::Null), None);
        assert_eq!(read("QUERY", json!("read")), None);
        assert_eq!(read("QUERY", json!(5)), None);
        assert_eq!(RequestClaim::read(&json!([1])), None);
    }
}

//! The answer to a request envelope that did not get as far as the gate that answers them: in the gate's words.

use serde_json::{Value, json};

use crate::{names::quoted, outcome::Fault};

/// The most characters of a word of the request that is told back.
const SHOWN: usize = 64;

/// What a fault is told as. The request is told back as far as it can be read; null where there is none.
pub fn refused(fault: &Fault, request: &Value) -> Value {
    // The envelope has fewer words than replies have.
    let kind = match fault.kind.error_type() {
        "UNAVAILABLE" => "MCP_ERROR",
        kind => kind,
    };
    let word = |key: &str| request[key].as_str().map(|word| quoted(word, SHOWN));
    json!({
        "ok": false,
        "error": {
            "type": kind,
            "message": fault.message,
            "recoverable": fault.retryable,
            "suggestion": fault.hint,
        },
        "request": {"intent": word("intent"), "action": word("action"), "effect": word("effect")},
        "meta": {"isolation_used": null, "duration_ms": 0},
    })
}

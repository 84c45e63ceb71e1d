//! What every message must be before it is one of MCP's: JSON, a single object, with an id that can be
//! answered. The protocol library takes a request with an invalid id for a notification, and answers what is
//! no message with an HTTP status alone.

use gatehouse_core::names::quoted;
use rmcp::model::{ErrorCode, ErrorData};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, json};

use super::json_text::{MAX_DEPTH, MessageOutline};

/// An error of JSON-RPC, to the request with this id where one is known.
pub(super) fn error(id: Option<Value>, code: ErrorCode, why: impl Into<String>) -> Value {
    // Of the ids that JSON-RPC knows only those that tell one request from another.
    let id = id.filter(|id| id.is_string() || id.is_number()).unwrap_or_default();
    json!({"jsonrpc": "2.0", "id": id, "error": ErrorData::new(code, why.into(), None)})
}

/// The same that says what is wrong with the request.
pub(super) fn invalid(id: Option<Value>, why: impl Into<String>) -> Value {
    error(id, ErrorCode::INVALID_REQUEST, why)
}

/// The members that tell what a message is; the rest is skipped.
#[derive(Deserialize)]
struct MessageEnvelope {
    jsonrpc: Option<Value>,
    /// `Some(Value::Null)` where it is there and null.
    #[serde(default, deserialize_with = "given")]
    id: Option<Value>,
    method: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Checks the bytes of one message. The error is the answer to what is none.
pub(super) fn check(bytes: &[u8]) -> Result<(), Value> {
    let invalid = |id, why: &str| Err(invalid(id, why));
    let batch = || invalid(None, "Batches are not supported; send each message on its own");
    let is_batch = bytes.trim_ascii_start().first() == Some(&b'[');
    let MessageEnvelope { jsonrpc, id, method, result, error } = match serde_json::from_slice(bytes) {
        Ok(envelope) if !is_batch => envelope,
        // Five values would do as the five members.
        Ok(_) => return batch(),
        Err(cause) if cause.is_data() && is_batch => return batch(),
        Err(cause) if cause.is_data() => {
            return invalid(None, &format!("Not a JSON-RPC 2.0 message: {cause}"));
        }
        Err(cause) => {
            let outline = MessageOutline::new(bytes);
            return Err(parse_error(outline.request_id, outline.depth, &cause));
        }
    };
    if jsonrpc.as_ref().and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "Not a JSON-RPC 2.0 message: 'jsonrpc' must be \"2.0\"");
    }
    let answers = result.is_some() || error.is_some();
    match (&method, &id) {
        (None, _) if answers => Ok(()),
        (None, _) => invalid(id, "Not a JSON-RPC 2.0 message: it has no 'method', 'result' or 'error'"),
        (Some(Value::String(_)), None | Some(Value::String(_))) => Ok(()),
        (Some(Value::String(_)), Some(Value::Number(number))) if number.is_i64() => Ok(()),
        (Some(Value::String(method)), Some(_)) => {
            let why = format!("The id of a request is a string or an integer: {}", quoted(method, 64));
            invalid(id, &why)
        }
        (Some(_), _) => invalid(id, "Not a JSON-RPC 2.0 message: 'method' must be a string"),
    }
}

/// Returns the answer to a message that passes [`check`] and that the protocol library cannot read.
///
/// `None` if the message is not a request: the client could take an answer to its notification or its response for
/// the answer to a request.
pub(super) fn unreadable(bytes: &[u8]) -> Option<Value> {
    let MessageEnvelope { id, method, .. } = serde_json::from_slice(bytes).ok()?;
    let (id, method) = (id?, method?);
    if let Err(cause) = serde_json::from_slice::<Value>(bytes) {
        return Some(parse_error(Some(id), MessageOutline::new(bytes).depth, &cause));
    }
    let why = format!("Invalid params for {}", quoted(method.as_str()?, 64));
    Some(error(Some(id), ErrorCode::INVALID_PARAMS, why))
}

/// Returns the answer to a message that is not JSON within the limits of the parser.
fn parse_error(id: Option<Value>, depth: usize, cause: &serde_json::Error) -> Value {
    let why = if depth > MAX_DEPTH {
        format!("the message is nested {depth} levels deep; the limit is {MAX_DEPTH}")
    } else {
        format!("the message is not valid JSON: {cause}")
    };
    error(id, ErrorCode::PARSE_ERROR, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(message: &str) -> Option<(i64, Value)> {
        let answer = check(message.as_bytes()).err()?;
        Some((answer["error"]["code"].as_i64().expect("a code"), answer["id"].clone()))
    }

    #[test]
    fn messages_pass() {
        for message in [
            r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#,
            r#"{"jsonrpc": "2.0", "id": "", "method": "ping", "params": [[{}]], "more": null}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": null}"#,
            r#"{"jsonrpc": "2.0", "error": {}}"#,
        ] {
            assert_eq!(answer(message), None, "{message}");
        }
    }

    #[test]
    fn what_is_no_message_is_answered() {
        for (message, code, id) in [
            ("", -32700, Value::Null),
            ("{", -32700, Value::Null),
            ("this is not JSON", -32700, Value::Null),
            ("{} {}", -32700, Value::Null),
            (r#"{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"a": NaN}}"#, -32700, json!(5)),
            (r#"{"jsonrpc": "2.0", "id": 5, "result": {"a": NaN}}"#, -32700, Value::Null),
            ("5", -32600, Value::Null),
            (r#"[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]"#, -32600, Value::Null),
            (r#"["2.0", 1, "ping", 1, 1]"#, -32600, Value::Null),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, -32600, Value::Null),
            (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, -32600, json!(1.5)),
            (r#"{"jsonrpc": "2.0", "id": {}, "method": "ping"}"#, -32600, Value::Null),
            (r#"{"jsonrpc": "2.0", "id": 18446744073709551615, "method": "ping"}"#, -32600, json!(u64::MAX)),
            (r#"{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}"#, -32600, Value::Null),
            (r#"{"jsonrpc": "2.0", "id": 3, "method": 5}"#, -32600, json!(3)),
            (r#"{"jsonrpc": "2.0", "id": 4}"#, -32600, json!(4)),
            (r#"{"id": "x", "method": "ping"}"#, -32600, json!("x")),
        ] {
            assert_eq!(answer(message), Some((code, id)), "{message}");
        }
    }
}

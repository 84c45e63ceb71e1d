//! Checks of JSON-RPC messages that rmcp lacks. rmcp takes a request with an invalid ID for a notification, and replies
//! to malformed messages with only an HTTP status.

use gatehouse_core::names::quoted;
use rmcp::model::{ErrorCode, ErrorData};
use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Value, json};

use super::json_text::{MAX_DEPTH, MessageOutline};

/// Returns a JSON-RPC error response. `id` is null if the request is unknown.
pub(super) fn error(id: Option<Value>, code: ErrorCode, reason: impl Into<String>) -> Value {
    // Other values cannot identify a request.
    let id = id.filter(|id| id.is_string() || id.is_number()).unwrap_or_default();
    json!({"jsonrpc": "2.0", "id": id, "error": ErrorData::new(code, reason.into(), None)})
}

pub(super) fn invalid(id: Option<Value>, reason: impl Into<String>) -> Value {
    error(id, ErrorCode::INVALID_REQUEST, reason)
}

/// Members that decide the type of a message.
#[derive(Deserialize)]
struct MessageEnvelope {
    jsonrpc: Option<Value>,
    /// `Some(Value::Null)` if present and null.
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

/// Checks the bytes of one message. Returns whether it is a request. The error is the JSON-RPC response to send.
pub(super) fn check(bytes: &[u8]) -> Result<bool, Value> {
    let invalid = |id, reason: &str| Err(invalid(id, reason));
    let batch = || invalid(None, "batches are not supported; send each message separately");
    let is_batch = bytes.trim_ascii_start().first() == Some(&b'[');
    let MessageEnvelope { jsonrpc, id, method, result, error } = match serde_json::from_slice(bytes) {
        Ok(envelope) if !is_batch => envelope,
        // serde also reads a struct from an array of its five values.
        Ok(_) => return batch(),
        Err(cause) if cause.is_data() && is_batch => return batch(),
        Err(cause) if cause.is_data() => {
            return invalid(None, &format!("not a JSON-RPC 2.0 message: {cause}"));
        }
        Err(cause) => {
            let outline = MessageOutline::new(bytes);
            return Err(parse_error(outline.request_id, outline.depth, &cause));
        }
    };
    if jsonrpc.as_ref().and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "not a JSON-RPC 2.0 message: `jsonrpc` must be \"2.0\"");
    }
    let answers = result.is_some() || error.is_some();
    match (&method, &id) {
        (None, _) if answers => Ok(false),
        (None, _) => invalid(id, "not a JSON-RPC 2.0 message: expected `method`, `result` or `error`"),
        (Some(Value::String(_)), None) => Ok(false),
        (Some(Value::String(_)), Some(Value::String(_))) => Ok(true),
        (Some(Value::String(_)), Some(Value::Number(number))) if number.is_i64() => Ok(true),
        (Some(Value::String(method)), Some(_)) => {
            let reason =
                format!("invalid request ID for {}: expected a string or an integer", quoted(method, 64));
            invalid(id, &reason)
        }
        (Some(_), _) => invalid(id, "not a JSON-RPC 2.0 message: `method` must be a string"),
    }
}

/// Returns the error response to a message that passes [`check`] but that rmcp cannot parse.
///
/// `None` if the message is not a request: the client could match the error to another request.
pub(super) fn unreadable(bytes: &[u8]) -> Option<Value> {
    let MessageEnvelope { id, method, .. } = serde_json::from_slice(bytes).ok()?;
    let (id, method) = (id?, method?);
    if let Err(cause) = serde_json::from_slice::<Value>(bytes) {
        return Some(parse_error(Some(id), MessageOutline::new(bytes).depth, &cause));
    }
    let reason = format!("invalid params for {}", quoted(method.as_str()?, 64));
    Some(error(Some(id), ErrorCode::INVALID_PARAMS, reason))
}

fn parse_error(id: Option<Value>, depth: usize, cause: &serde_json::Error) -> Value {
    let reason = if depth > MAX_DEPTH {
        format!("the message is nested {depth} levels deep; the limit is {MAX_DEPTH}")
    } else {
        format!("the message is not valid JSON: {cause}")
    };
    error(id, ErrorCode::PARSE_ERROR, reason)
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

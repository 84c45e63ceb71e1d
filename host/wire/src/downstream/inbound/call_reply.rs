//! Parsing of results of tool calls, the most frequent message of servers.

use std::borrow::Cow;

use rmcp::model::{CallToolResult, RequestId};
use serde::{Deserialize, de::IgnoredAny};

#[derive(Deserialize)]
struct CallReply<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    id: RequestId,
    result: CallToolResult,
    method: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Parses the result of a call that is complete. `None` for other messages and results, and for those that are not
/// exactly as the protocol has them.
pub(super) fn parse_call_reply(text: &[u8]) -> Option<(RequestId, CallToolResult)> {
    // serde also reads a struct from an array of its values.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let CallReply { jsonrpc, id, result, method, error } = serde_json::from_slice(text).ok()?;
    (jsonrpc == "2.0" && method.is_none() && error.is_none()).then_some((id, result))
}

#[cfg(test)]
mod tests {
    use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult};

    use super::*;

    #[test]
    fn results_are_parsed_as_rmcp_parses_them() {
        for text in [
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "a\u00e9"}]}}"#,
            r#"{"result": {"structuredContent": null, "resultType": "complete"}, "id": "7", "jsonrpc": "2.0"}"#,
            r#" {"jsonrpc": "2.0", "id": 1, "result": {"isError": true, "_meta": {"a": [1]}, "other": 1}, "more": 1}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"content": [
                {"type": "image", "data": "AA==", "mimeType": "image/png", "annotations": {"audience": ["user"]}},
                {"type": "resource", "resource": {"uri": "a://b", "text": "x", "_meta": {"y": 1}}},
                {"type": "resource_link", "uri": "a://b", "name": "b"}]}}"#,
        ] {
            let (id, result) =
                parse_call_reply(text.as_bytes()).unwrap_or_else(|| panic!("not parsed: {text}"));
            let Ok(JsonRpcMessage::Response(expected)) = serde_json::from_str::<ServerJsonRpcMessage>(text)
            else {
                panic!("not a response: {text}");
            };
            let ServerResult::CallToolResult(expected_result) = expected.result else {
                panic!("another: {text}")
            };
            assert_eq!((id, result), (expected.id, expected_result), "{text}");
        }
    }

    #[test]
    fn what_is_not_exactly_a_result_is_left_to_rmcp() {
        for text in [
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"content": [], "resultType": "input_required"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"_meta": {}}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text"}]}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "result": {"content": []}, "error": {"code": 1, "message": "x"}}"#,
            r#"{"jsonrpc": "2.0", "id": 1, "method": "x", "result": {"content": []}}"#,
            r#"{"jsonrpc": "1.0", "id": 1, "result": {"content": []}}"#,
            r#"{"jsonrpc": "2.0", "id": null, "result": {"content": []}}"#,
            r#"{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}"#,
            r#"["2.0", 1, {"content": []}]"#,
        ] {
            assert!(parse_call_reply(text.as_bytes()).is_none(), "{text}");
        }
    }
}

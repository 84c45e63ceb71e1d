//! Text of a server's messages before rmcp reads it: repairs, because rmcp rejects lone surrogates and drops unknown
//! fields of tools, and the parsing of results of tool calls, the most frequent message.

use std::borrow::Cow;

use gatehouse_core::json::too_many_values;
use memchr::memmem;
use rmcp::model::{CallToolResult, RequestId};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{Map, Value};

use crate::serve::replace_lone_surrogates;

/// Key in the `_meta` of a tool that runs only as a task.
const TASK_ONLY: &str = "gatehouse.task-only";

/// Repairs a message: lone surrogates become U+FFFD, and tools that run only as tasks are marked. `None` if nothing
/// changes.
pub(super) fn repaired(message: &[u8]) -> Option<Vec<u8>> {
    match replace_lone_surrogates(message) {
        Cow::Owned(text) => Some(mark_task_only(&text).unwrap_or(text)),
        Cow::Borrowed(text) => mark_task_only(text),
    }
}

/// True if the tool was listed with `"execution": {"taskSupport": "required"}`.
pub(in crate::downstream) fn is_task_only(meta: Option<&Map<String, Value>>) -> bool {
    meta.is_some_and(|meta| meta.contains_key(TASK_ONLY))
}

fn mark_task_only(text: &[u8]) -> Option<Vec<u8>> {
    memmem::find(text, b"\"taskSupport\"")?;
    if too_many_values(text) {
        return None;
    }
    let mut message: Value = serde_json::from_slice(text).ok()?;
    let tools = message.pointer_mut("/result/tools")?.as_array_mut()?;
    let required =
        |tool: &Value| tool.pointer("/execution/taskSupport").is_some_and(|support| support == "required");
    for tool in tools.iter_mut().filter(|tool| required(tool)) {
        let meta = tool.as_object_mut()?.entry("_meta").or_insert_with(|| Map::new().into());
        if let Value::Object(meta) = meta {
            meta.insert(TASK_ONLY.into(), true.into());
        }
    }
    let mut marked = serde_json::to_vec(&message).ok()?;
    if text.ends_with(b"\n") {
        marked.push(b'\n');
    }
    Some(marked)
}

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
    use serde_json::json;

    use super::*;

    #[test]
    fn tools_that_run_only_as_tasks_are_marked() {
        let tool = |name: &str, support: &str| json!({"name": name, "execution": {"taskSupport": support}});
        let list = json!({"id": 1, "result": {"tools": [tool("a", "required"), tool("b", "optional"), {"name": "c"}]}});
        let line = format!("{list}\n").into_bytes();
        let changed = repaired(&line).expect("a change");
        assert!(changed.ends_with(b"}\n"));
        let read: Value = serde_json::from_slice(&changed).expect("JSON");
        let marked = |at: usize| is_task_only(read["result"]["tools"][at]["_meta"].as_object());
        assert_eq!([marked(0), marked(1), marked(2)], [true, false, false]);
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for line in [
            "{\"result\":{\"text\":\"\\\"taskSupport\\\"\"}}",
            "",
            "\"taskSupport\" is not JSON",
            "{\"a\":1}\n",
        ] {
            assert_eq!(repaired(line.as_bytes()), None, "{line}");
        }
        assert_eq!(repaired(br#"{"a":"\ud83d"}"#).as_deref(), Some(&br#"{"a":"\uFFFD"}"#[..]));
    }

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

//! Changes to a server's JSON before rmcp reads it. rmcp rejects lone surrogates, and drops unknown fields of tools.

use std::borrow::Cow;

use gatehouse_core::json::too_many_values;
use memchr::memmem;
use serde_json::{Map, Value};

use crate::serve::replace_lone_surrogates;

/// Key in the `_meta` of a tool that runs only as a task.
const TASK_ONLY: &str = "gatehouse.task-only";

/// Repairs a message: lone surrogates become U+FFFD, and tools that run only as tasks are marked. `None` if nothing
/// changes.
pub(crate) fn repaired(message: &[u8]) -> Option<Vec<u8>> {
    match replace_lone_surrogates(message) {
        Cow::Owned(text) => Some(mark_task_only(&text).unwrap_or(text)),
        Cow::Borrowed(text) => mark_task_only(text),
    }
}

/// True if the tool was listed with `"execution": {"taskSupport": "required"}`.
pub(super) fn is_task_only(meta: Option<&Map<String, Value>>) -> bool {
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

#[cfg(test)]
mod tests {
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
}

//! Property test of arbitrary requests.

use gatehouse_mutate::Target;
use gatehouse_sdk::{Content, Media, Reply, testing};
use serde_json::Value;

use super::requests::host;

/// The tool's reply is also untrusted: its text, data and kind come from the input.
fn request(input: &[u8]) {
    let text = String::from_utf8_lossy(input).into_owned();
    let Ok(Value::Object(sent)) = serde_json::from_str::<Value>(&text) else { return };
    let answer = text.clone();
    let host = host(move |_, _, _| {
        let media =
            Content::Image(Media { data: answer.clone().into_bytes(), mime_type: "image/png".into() });
        let mut reply = Reply::markdown(answer.clone());
        if answer.len().is_multiple_of(2) {
            reply.structured = Some(answer.clone());
        }
        if answer.len().is_multiple_of(3) {
            reply.content.push(media);
        }
        Ok(reply)
    });
    let sent = Value::Object(sent).to_string();
    let reply =
        host.keeps_artifacts().run(|| testing::call(&crate::gate(), "request", &sent, "{\"request\":true}"));
    let reply = reply.expect("an answer, and no fault");
    let answer: Value = serde_json::from_str(&reply.text()).expect("JSON");
    assert_eq!(answer["ok"] == true, !reply.is_error, "{answer}");
    assert!(answer["meta"]["duration_ms"].is_u64(), "{answer}");
}

#[test]
fn any_request_is_answered_with_json() {
    const TARGET: Target = Target {
        name: "request",
        seeds: &[
            br#"{"intent": "QUERY", "action": "look", "params": {"q": 1}, "artifact": "JSON"}"#,
            br#"{"intent": "MODIFY", "action": "edit", "effect": "MUTATING", "params": {"page": "x"}, "constraints": {"timeout_ms": 5, "retry_count": 2, "dry_run": false, "isolation": "agent"}, "context": {"caller": "c", "project_root": "/p"}}"#,
            br#"{"intent": "EXECUTE", "action": "git/push", "artifact": "PATCH", "params": {}, "x": "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"}"#,
            br#"{"intent": "ANALYZE", "action": "look", "artifact": "BINARY", "params": {}}"#,
        ],
        words: &[
            "\"intent\":", "\"action\":", "\"artifact\":", "\"constraints\":", "QUERY", "GENERATE", "EXECUTE",
            "CODE_TS", "TEXT", "PATCH", "null", "{}", "[]", "-1", "1e400", "\\ud800", "look", "git/push", "subprocess", "@@ -1,2 +3,4 @@",
        ],
        run: request,
    };
    TARGET.test();
}

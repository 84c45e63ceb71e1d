//! Tests of the request envelope: permissions, results, and that the answer is always JSON.

use gatehouse_sdk::{
    Content, Effect, Fault, Media, Reply,
    catalog::Entry,
    testing::{self, Fake},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{server, tool};

const ON: &str = r#"{"request":true}"#;

fn entry(name: &str, effect: Effect) -> Entry {
    Entry {
        name: name.into(),
        source: "kg".into(),
        tool: name.into(),
        title: None,
        description: String::new(),
        effect,
        idempotent: effect == Effect::ReadOnly,
        dry_run: (effect == Effect::Mutating).then(|| "dry_run".into()),
        structured: false,
    }
}

pub(super) fn host(reply: impl Fn(&str, &str, u64) -> Result<Reply, Fault> + Clone + 'static) -> Fake {
    let other = reply.clone();
    Fake::new()
        .remaining(600_000)
        .tools(|| {
            let own = Entry { source: "another-name".into(), ..entry("request", Effect::ExternalExec) };
            Ok(vec![entry("look", Effect::ReadOnly), entry("edit", Effect::Mutating), own])
        })
        .schema(|name| {
            let checked = json!({"type": "object", "x-target": "page", "x-precheck": "look"});
            Ok(match name {
                "edit" => checked.to_string(),
                "request" => crate::request::request_schema().to_string(),
                _ => "{}".into(),
            })
        })
        .server_list(|| Ok(vec![server("git")]))
        .server_tool(|of, name| match (of, name) {
            ("git", "push") => {
                Ok(gatehouse_sdk::servers::ServerTool { effect: Effect::ExternalExec, ..tool(of, name) })
            }
            _ => Err(Fault::not_found(format!("Server '{of}' has no tool '{name}'."))),
        })
        .call_within(move |tool, arguments, timeout| reply(tool, arguments, timeout))
        .server_call_within(move |of, tool, arguments, timeout| {
            other(&format!("{of}/{tool}"), arguments, timeout)
        })
}

pub(super) fn request(host: Fake, sent: Value) -> Value {
    let reply =
        host.keeps_artifacts().run(|| testing::call(&crate::gate(), "request", &sent.to_string(), ON));
    let reply = reply.unwrap_or_else(|fault| panic!("{sent}: {fault:?}"));
    let told: Value = serde_json::from_str(&reply.text()).expect("JSON");
    assert_eq!(told["ok"] == true, !reply.is_error, "{told}");
    told
}

pub(super) fn said(text: &'static str) -> impl Fn(&str, &str, u64) -> Result<Reply, Fault> + Clone {
    move |_, _, _| Ok(Reply::markdown(text))
}

#[test]
fn an_intent_says_what_may_happen_and_for_how_long() {
    for (intent, effect, timeout) in [
        ("QUERY", "READ_ONLY", 60_000),
        ("ANALYZE", "READ_ONLY", 60_000),
        ("GENERATE", "READ_ONLY", 60_000),
        ("MODIFY", "MUTATING", 120_000),
        ("EXECUTE", "EXTERNAL_EXEC", 300_000),
    ] {
        let seen = host(move |tool, arguments, given| {
            assert_eq!((tool, arguments, given), ("look", r#"{"q":1}"#, timeout));
            Ok(Reply::markdown("found"))
        });
        let told = request(seen, json!({"intent": intent, "action": "look", "params": {"q": 1}}));
        assert_eq!(told["request"], json!({"intent": intent, "action": "look", "effect": effect}));
        assert_eq!(told["result"]["data"], "found");
        assert_eq!(
            (&told["meta"]["mcp_name"], &told["meta"]["isolation_used"]),
            (&json!("kg"), &json!("agent"))
        );
        assert!(told["meta"]["duration_ms"].is_u64());
    }
}

#[test]
fn a_tool_that_does_more_than_is_allowed_is_not_called() {
    let never = || host(|tool, _, _| panic!("'{tool}' was called"));
    let told = request(never(), json!({"intent": "QUERY", "action": "edit"}));
    assert_eq!(told["error"]["type"], "PERMISSION");
    assert_eq!(told["error"]["message"], "'edit' requires effect MUTATING; the request allows READ_ONLY");
    assert!(
        told["error"]["suggestion"].as_str().is_some_and(|next| next.contains("intent MODIFY")),
        "{told}"
    );
    let told = request(never(), json!({"intent": "EXECUTE", "effect": "READ_ONLY", "action": "git/push"}));
    assert_eq!(told["error"]["type"], "PERMISSION", "an effect lowers what the intent allows: {told}");
    let told = request(never(), json!({"intent": "EXECUTE", "action": "request"}));
    assert_eq!(told["error"]["message"], "'request' cannot run itself");
    let told = request(never(), json!({"intent": "QUERY", "action": "lok"}));
    assert!(told["error"]["suggestion"].as_str().is_some_and(|next| next.contains("look, edit")), "{told}");
}

#[test]
fn only_what_can_be_repeated_is_tried_again() {
    for (action, intent, expected) in [("look", "QUERY", 3), ("edit", "MODIFY", 1)] {
        let tries = std::rc::Rc::new(std::cell::Cell::new(0));
        let seen = tries.clone();
        let failing = move |tool: &str, _: &str, _: u64| {
            if tool != action {
                return Ok(Reply::markdown("there"));
            }
            seen.set(seen.get() + 1);
            let mut fault = Fault::unavailable("down");
            fault.retryable = true;
            Err(fault)
        };
        let constraints = json!({"retry_count": 2});
        let sent =
            json!({"intent": intent, "action": action, "params": {"page": "x"}, "constraints": constraints});
        let told = request(host(failing), sent);
        assert_eq!(
            (&told["error"]["type"], &told["error"]["recoverable"]),
            (&json!("MCP_ERROR"), &json!(true))
        );
        assert_eq!(tries.get(), expected, "{action}");
    }
}

#[test]
fn what_is_to_be_changed_has_to_be_there() {
    let missing = |tool: &str, arguments: &str, _: u64| match tool {
        "look" => {
            assert_eq!(arguments, r#"{"page":"x"}"#);
            Err(Fault::not_found("no page 'x'"))
        }
        _ => panic!("'{tool}' was called"),
    };
    let told = request(host(missing), json!({"intent": "MODIFY", "action": "edit", "params": {"page": "x"}}));
    assert_eq!(told["error"]["type"], "VALIDATION");
    assert!(told["error"]["message"].as_str().is_some_and(|why| why.contains("no page 'x'")), "{told}");
    // A dry run calls the tool itself.
    let rehearsed = |tool: &str, arguments: &str, _: u64| {
        assert_eq!((tool, arguments), ("edit", r#"{"page":"x","dry_run":true}"#));
        Reply::markdown("would change").structured(&json!({"affected_files": ["x.md"]}))
    };
    let sent = json!({"intent": "MODIFY", "action": "edit", "params": {"page": "x"}, "constraints": {"dry_run": true}});
    assert_eq!(request(host(rehearsed), sent)["result"]["affected_files"], json!(["x.md"]));
    let none = json!({"intent": "QUERY", "action": "look", "constraints": {"dry_run": true}});
    assert_eq!(request(host(said("x")), none)["error"]["type"], "VALIDATION");
}

#[test]
fn a_result_is_what_was_asked_for_or_comes_as_text() {
    let asked = |kind: &str, text: &'static str| {
        request(host(said(text)), json!({"intent": "QUERY", "action": "look", "artifact": kind}))
    };
    assert_eq!(asked("JSON", "```json\n{\"a\": 1}\n```")["result"]["data"], json!({"a": 1}));
    let told = asked("JSON", "no JSON");
    assert_eq!((&told["error"]["type"], &told["result"]["data"]), (&json!("VALIDATION"), &json!("no JSON")));
    let patch = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n";
    assert_eq!(asked("PATCH", patch)["result"]["affected_files"], json!(["x"]));
    assert_eq!(asked("PATCH", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n")["ok"], false);
    assert_eq!(asked("CODE_PY", "```python\nx = 1\n```")["result"]["data"], "x = 1\n");
    assert_eq!(asked("BINARY", "text")["ok"], false);
    let picture = |_: &str, _: &str, _: u64| {
        let mut reply = Reply::markdown("");
        reply.content = vec![Content::Image(Media { data: vec![1, 2, 3], mime_type: "image/png".into() })];
        Ok(reply)
    };
    let told = request(host(picture), json!({"intent": "QUERY", "action": "look"}));
    assert_eq!(told["result"]["artifact_type"], "BINARY");
    assert!(
        told["result"]["data"]["artifact_id"].as_str().is_some_and(|id| id.starts_with("art-")),
        "{told}"
    );
}

#[test]
fn a_large_result_is_kept_and_told_in_short() {
    let large = |_: &str, _: &str, _: u64| Ok(Reply::markdown("a line\n".repeat(10_000)));
    let told = request(host(large), json!({"intent": "QUERY", "action": "look"}));
    let data = &told["result"]["data"];
    assert_eq!(
        (data["bytes"].as_u64(), data["mime_type"].as_str()),
        (Some(70_000), Some("text/plain")),
        "{data}"
    );
    assert!(told.to_string().len() < 3_000 && data["artifact_id"].is_string(), "{told}");
}

#[test]
fn tries_and_checks_share_one_time() {
    let failing = |_: &str, _: &str, given: u64| {
        testing::advance(given);
        let mut fault = Fault::unavailable("down");
        fault.retryable = true;
        Err(fault)
    };
    let sent =
        json!({"intent": "QUERY", "action": "look", "constraints": {"timeout_ms": 1_000, "retry_count": 5}});
    let told = request(host(failing), sent);
    assert_eq!(told["error"]["type"], "TIMEOUT", "{told}");
    assert_eq!(told["meta"]["duration_ms"], 1_000, "{told}");
}

#[test]
fn a_request_that_cannot_be_read_says_why() {
    for (sent, why) in [
        (json!({}), "intent is missing"),
        (json!({"intent": "READ", "action": "look"}), "intent must be one of QUERY, ANALYZE"),
        (json!({"intent": "QUERY"}), "action is missing"),
        (json!({"intent": "QUERY", "action": 5}), "action must be a string"),
        (
            json!({"intent": "QUERY", "action": "look", "parms": {}}),
            "a request has no key 'parms'; its keys are intent, action",
        ),
        (
            json!({"intent": "QUERY", "action": "look", "context": {"project_root": 5}}),
            "project_root must be a string",
        ),
        (json!({"intent": "QUERY", "action": "look", "params": []}), "params must be an object"),
        (json!({"intent": "QUERY", "action": "look", "effect": "read"}), "effect must be one of READ_ONLY"),
        (json!({"intent": "QUERY", "action": "look", "artifact": "PDF"}), "artifact must be one of TEXT"),
        (
            json!({"intent": "QUERY", "action": "look", "constraints": {"timeout_ms": 300_001}}),
            "constraints.timeout_ms must be an integer from 1 to 300000",
        ),
        (
            json!({"intent": "QUERY", "action": "look", "constraints": {"isolation": "x"}}),
            "isolation must be one of agent, subprocess, auto",
        ),
    ] {
        let told = request(host(|tool, _, _| panic!("'{tool}' was called")), sent.clone());
        assert_eq!(told["error"]["type"], "VALIDATION", "{sent}");
        assert!(told["error"]["message"].as_str().is_some_and(|told| told.contains(why)), "{told}");
    }
}

const WORDS: [&str; 10] =
    ["intent", "action", "params", "effect", "artifact", "constraints", "QUERY", "MODIFY", "look", "edit"];

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
        proptest::sample::select(&WORDS[..]).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        let key = prop_oneof![proptest::sample::select(&WORDS[..]).prop_map(str::to_owned), ".{0,8}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn any_object_is_answered_with_json(sent in any_json(), text in ".{0,80}") {
        let Value::Object(_) = &sent else { return Ok(()) };
        let replying = move |_: &str, _: &str, _: u64| Ok(Reply::markdown(text.clone()));
        let told = request(host(replying), sent);
        prop_assert!(told["ok"].is_boolean() && told["request"].is_object() && told["meta"].is_object());
    }
}

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
    let answer: Value = serde_json::from_str(&reply.text()).expect("JSON");
    assert_eq!(answer["ok"] == true, !reply.is_error, "{answer}");
    answer
}

pub(super) fn fixed_reply(text: &'static str) -> impl Fn(&str, &str, u64) -> Result<Reply, Fault> + Clone {
    move |_, _, _| Ok(Reply::markdown(text))
}

#[test]
fn an_intent_sets_the_maximum_effect_and_time() {
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
        let answer = request(seen, json!({"intent": intent, "action": "look", "params": {"q": 1}}));
        assert_eq!(answer["request"], json!({"intent": intent, "action": "look", "effect": effect}));
        assert_eq!(answer["result"]["data"], "found");
        assert_eq!(
            (&answer["meta"]["mcp_name"], &answer["meta"]["isolation_used"]),
            (&json!("kg"), &json!("agent"))
        );
        assert!(answer["meta"]["duration_ms"].is_u64());
    }
}

#[test]
fn a_tool_with_a_stronger_effect_is_not_called() {
    let never = || host(|tool, _, _| panic!("'{tool}' was called"));
    let answer = request(never(), json!({"intent": "QUERY", "action": "edit"}));
    assert_eq!(answer["error"]["type"], "PERMISSION");
    assert_eq!(answer["error"]["message"], "'edit' requires effect MUTATING; the request allows READ_ONLY");
    assert!(
        answer["error"]["suggestion"].as_str().is_some_and(|next| next.contains("intent MODIFY")),
        "{answer}"
    );
    let answer = request(never(), json!({"intent": "EXECUTE", "effect": "READ_ONLY", "action": "git/push"}));
    assert_eq!(answer["error"]["type"], "PERMISSION", "an effect lowers what the intent allows: {answer}");
    let answer = request(never(), json!({"intent": "EXECUTE", "action": "request"}));
    assert_eq!(answer["error"]["message"], "'request' cannot run itself");
    let answer = request(never(), json!({"intent": "QUERY", "action": "lok"}));
    assert!(
        answer["error"]["suggestion"].as_str().is_some_and(|next| next.contains("look, edit")),
        "{answer}"
    );
}

#[test]
fn only_repeatable_calls_are_retried() {
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
        let answer = request(host(failing), sent);
        assert_eq!(
            (&answer["error"]["type"], &answer["error"]["recoverable"]),
            (&json!("MCP_ERROR"), &json!(true))
        );
        assert_eq!(tries.get(), expected, "{action}");
    }
}

#[test]
fn the_target_of_a_change_must_exist() {
    let missing = |tool: &str, arguments: &str, _: u64| match tool {
        "look" => {
            assert_eq!(arguments, r#"{"page":"x"}"#);
            Err(Fault::not_found("no page 'x'"))
        }
        _ => panic!("'{tool}' was called"),
    };
    let answer =
        request(host(missing), json!({"intent": "MODIFY", "action": "edit", "params": {"page": "x"}}));
    assert_eq!(answer["error"]["type"], "VALIDATION");
    assert!(
        answer["error"]["message"].as_str().is_some_and(|reason| reason.contains("no page 'x'")),
        "{answer}"
    );
    // A dry run calls the tool itself.
    let rehearsed = |tool: &str, arguments: &str, _: u64| {
        assert_eq!((tool, arguments), ("edit", r#"{"page":"x","dry_run":true}"#));
        Reply::markdown("would change").structured(&json!({"affected_files": ["x.md"]}))
    };
    let sent = json!({"intent": "MODIFY", "action": "edit", "params": {"page": "x"}, "constraints": {"dry_run": true}});
    assert_eq!(request(host(rehearsed), sent)["result"]["affected_files"], json!(["x.md"]));
    let none = json!({"intent": "QUERY", "action": "look", "constraints": {"dry_run": true}});
    assert_eq!(request(host(fixed_reply("x")), none)["error"]["type"], "VALIDATION");
}

#[test]
fn a_result_has_the_requested_type_or_is_returned_as_text() {
    let asked = |kind: &str, text: &'static str| {
        request(host(fixed_reply(text)), json!({"intent": "QUERY", "action": "look", "artifact": kind}))
    };
    assert_eq!(asked("JSON", "```json\n{\"a\": 1}\n```")["result"]["data"], json!({"a": 1}));
    let answer = asked("JSON", "no JSON");
    assert_eq!(
        (&answer["error"]["type"], &answer["result"]["data"]),
        (&json!("VALIDATION"), &json!("no JSON"))
    );
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
    let answer = request(host(picture), json!({"intent": "QUERY", "action": "look"}));
    assert_eq!(answer["result"]["artifact_type"], "BINARY");
    assert!(
        answer["result"]["data"]["artifact_id"].as_str().is_some_and(|id| id.starts_with("art-")),
        "{answer}"
    );
}

#[test]
fn a_large_result_is_stored_and_shortened() {
    let large = |_: &str, _: &str, _: u64| Ok(Reply::markdown("a line\n".repeat(10_000)));
    let answer = request(host(large), json!({"intent": "QUERY", "action": "look"}));
    let data = &answer["result"]["data"];
    assert_eq!(
        (data["bytes"].as_u64(), data["mime_type"].as_str()),
        (Some(70_000), Some("text/plain")),
        "{data}"
    );
    assert!(answer.to_string().len() < 3_000 && data["artifact_id"].is_string(), "{answer}");
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
    let answer = request(host(failing), sent);
    assert_eq!(answer["error"]["type"], "TIMEOUT", "{answer}");
    assert_eq!(answer["meta"]["duration_ms"], 1_000, "{answer}");
}

#[test]
fn an_invalid_request_is_explained() {
    for (sent, reason) in [
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
        let answer = request(host(|tool, _, _| panic!("'{tool}' was called")), sent.clone());
        assert_eq!(answer["error"]["type"], "VALIDATION", "{sent}");
        assert!(
            answer["error"]["message"].as_str().is_some_and(|answer| answer.contains(reason)),
            "{answer}"
        );
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
        let answer = request(host(replying), sent);
        prop_assert!(answer["ok"].is_boolean() && answer["request"].is_object() && answer["meta"].is_object());
    }
}

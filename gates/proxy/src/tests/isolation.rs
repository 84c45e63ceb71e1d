//! Tests of requests with their own server process.

use gatehouse_sdk::{Reply, servers};
use serde_json::{Value, json};

use super::requests::{fixed_reply, host, request};

#[test]
fn a_server_is_started_for_a_request_if_requested_or_advised() {
    let apart = |reason: &'static str, apart: bool| {
        let host = host(|tool, _, _| {
            assert_eq!(tool, "git/push", "shared");
            Ok(Reply::markdown("shared"))
        });
        host.server_learn(|_| Ok(()))
            .server_advise(move |_| Ok(servers::Advice { apart, reason: reason.into() }))
            .server_call_apart(|server, tool, _, timeout| {
                assert_eq!((server, tool, timeout), ("git", "push", 300_000));
                Ok(Reply::markdown("apart"))
            })
    };
    for (isolation, host, data, reason) in [
        ("agent", apart("", true), "shared", Value::Null),
        ("subprocess", apart("", false), "apart", Value::Null),
        ("auto", apart("it is seldom used", true), "apart", json!("it is seldom used")),
        ("auto", apart("it runs already", false), "shared", json!("it runs already")),
    ] {
        let constraints = json!({"isolation": isolation});
        let answer =
            request(host, json!({"intent": "EXECUTE", "action": "git/push", "constraints": constraints}));
        let used = if data == "apart" { "subprocess" } else { "agent" };
        assert_eq!(
            (&answer["result"]["data"], &answer["meta"]["isolation_used"]),
            (&json!(data), &json!(used))
        );
        assert_eq!(answer["meta"]["isolation_reason"], reason, "{answer}");
    }
    let constraints = json!({"isolation": "subprocess"});
    let answer = request(
        host(fixed_reply("found")),
        json!({"intent": "QUERY", "action": "look", "constraints": constraints}),
    );
    assert_eq!(answer["meta"]["isolation_used"], "agent");
    assert!(
        answer["meta"]["isolation_reason"].as_str().is_some_and(|reason| reason.contains("a gate has")),
        "{answer}"
    );
}

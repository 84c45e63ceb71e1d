//! Tests of `auto_retry_fallback`.

use gatehouse_sdk::{Effect, Fault, FaultKind, Reply, testing::Fake};
use serde_json::{Value, json};

use super::{alternative, call, host, tool};

fn failing(fault: Fault, effect: Effect) -> Fake {
    host()
        .server_tool(move |server, name| {
            let mut tool = tool(server, name);
            tool.effect = effect;
            Ok(tool)
        })
        .server_alternatives(|_, _, _, _| Ok(vec![alternative("web", "look"), alternative("web", "see")]))
        .server_call(move |server, name, arguments| {
            assert_eq!(arguments, r#"{"path":"."}"#);
            match (server, name) {
                ("git", "status") => Err(fault.clone()),
                ("web", "look") => Err(Fault::invalid("No argument path.")),
                _ => Ok(Reply::markdown("clean")),
            }
        })
}

fn called(host: Fake, params: &str) -> Reply {
    let arguments = json!({"server": "git", "tool": "status", "arguments": {"path": "."}});
    call(host, "call_tool", arguments, params).unwrap()
}

const ON: &str = r#"{"auto_retry_fallback":true}"#;

fn timed_out() -> Fault {
    Fault::new(FaultKind::TimedOut, "It took too long.")
}

#[test]
fn the_first_tool_that_accepts_the_arguments_replies() {
    let reply = called(failing(timed_out(), Effect::ReadOnly), ON);
    assert!(!reply.is_error);
    assert_eq!(
        reply.text(),
        "clean\ngit: status failed: It took too long.\nThis is the reply of web: see to the same arguments."
    );
    let off = called(failing(timed_out(), Effect::ReadOnly), "{}");
    assert!(off.is_error && !off.text().contains("\"fallback\""), "{off:?}");
}

#[test]
fn a_call_with_possible_effects_is_not_repeated() {
    let acts = Effect::ExternalExec;
    for (fault, retried) in [
        (timed_out(), false),
        (Fault::new(FaultKind::Internal, "Server 'git' answered: no."), false),
        (Fault { retryable: false, ..Fault::new(FaultKind::Unavailable, "It gave no answer.") }, false),
        (Fault::new(FaultKind::Unavailable, "It cannot be connected."), true),
        (Fault::new(FaultKind::Denied, "Not allowed."), false),
    ] {
        let message = fault.message.clone();
        assert_eq!(!called(failing(fault, acts), ON).is_error, retried, "{message}");
    }
}

#[test]
fn a_failed_fallback_reports_both_errors() {
    let both = || {
        host()
            .server_alternatives(|_, _, _, _| Ok(vec![alternative("web", "look"), alternative("web", "see")]))
    };
    let fails = both().server_call(|server, _, _| match server {
        "git" => Ok(Reply { is_error: true, ..Reply::markdown("no such branch") }),
        _ => Err(Fault::new(FaultKind::TimedOut, "It took too long.")),
    });
    let reply = called(fails, ON);
    let answer: Value = serde_json::from_str(&reply.text()).unwrap();
    assert_eq!((reply.is_error, &answer["error"]), (true, &json!("no such branch")));
    let expected =
        json!({"server": "web", "tool": "look", "error": "It took too long.", "error_code": "TIMEOUT"});
    assert_eq!(answer["fallback"], expected);
    let left = answer["fallback_suggestions"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["tool"]), (1, &json!("see")));
}

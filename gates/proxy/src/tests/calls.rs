//! Tests of `call_tool`: results, failures, and `select`.

use gatehouse_sdk::{Content, Fault, FaultKind, Media, Reply, conformance, servers::Circuit, testing::Fake};
use serde_json::{Value, json};

use super::{alternative, call, found, hit, host, server};

fn called(host: Fake, more: Value) -> Reply {
    let mut arguments = json!({"server": "git", "tool": "status"});
    let all = arguments.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    assert!(conformance::accepts(&crate::gate(), "call_tool", &arguments.to_string()), "{arguments}");
    call(host, "call_tool", arguments, "{}").unwrap()
}

fn failure(reply: &Reply) -> Value {
    assert!(reply.is_error && reply.structured.is_none());
    let Content::Text(text) = &reply.content[0] else { panic!("{reply:?}") };
    serde_json::from_str(text).unwrap()
}

fn failing(kind: FaultKind) -> Fake {
    host().server_call(move |_, _, _| Err(Fault::new(kind, "It broke.").hint("Fix it.")))
}

#[test]
fn a_result_is_unchanged() {
    let picture = Media { data: vec![0, 255], mime_type: "image/png".into() };
    let whole = Reply {
        content: vec![
            Content::Text("a".into()),
            Content::Image(picture),
            Content::Other("{\"type\":\"x\"}".into()),
        ],
        structured: Some("{\"b\":1}".into()),
        is_error: false,
        meta: Some("{\"example.com/n\":1}".into()),
    };
    let answer = whole.clone();
    let host = host().server_call(move |server, tool, arguments| {
        assert_eq!((server, tool, arguments), ("git", "status", "{\"path\":\".\"}"));
        Ok(answer.clone())
    });
    assert_eq!(called(host, json!({"arguments": {"path": "."}})), whole);
}

#[test]
fn every_failure_has_a_code_and_the_next_step() {
    let suggesting = |kind| {
        failing(kind).server_alternatives(|server, tool, _, limit| {
            assert_eq!((server, tool, limit), ("git", "status", 3));
            Ok(vec![alternative("web", "look")])
        })
    };
    for (kind, code, suggestions) in [
        (FaultKind::Unavailable, "CONNECTION_ERROR", 1),
        (FaultKind::TimedOut, "TIMEOUT", 1),
        (FaultKind::Exhausted, "EXECUTION_ERROR", 1),
        (FaultKind::Internal, "EXECUTION_ERROR", 1),
        (FaultKind::NotFound, "EXECUTION_ERROR", 1),
        (FaultKind::Denied, "DENIED", 0),
        (FaultKind::InvalidArguments, "INVALID_ARGUMENTS", 0),
    ] {
        let answer = failure(&called(suggesting(kind), json!({})));
        assert_eq!((&answer["success"], &answer["error_code"]), (&json!(false), &json!(code)));
        assert_eq!((&answer["error"], &answer["hint"]), (&json!("It broke."), &json!("Fix it.")));
        assert_eq!((&answer["server"], &answer["tool"]), (&json!("git"), &json!("status")));
        assert_eq!(answer["fallback_suggestions"].as_array().unwrap().len(), suggestions, "{code}");
        assert_eq!(answer.get("schema").is_some(), code == "INVALID_ARGUMENTS", "{code}");
    }
    let answer = failure(&called(suggesting(FaultKind::TimedOut), json!({})));
    assert_eq!(
        answer["fallback_suggestions"][0],
        json!({"server": "web", "tool": "look", "signature": "look() Does it too.", "score": 0.12,
               "similarity": 0.5, "success_rate": 0.5, "recency": 0.49, "reason": "50 % match; not called yet."})
    );
    let answer = failure(&called(suggesting(FaultKind::TimedOut), json!({"include_fallbacks": false})));
    assert_eq!(answer["fallback_suggestions"], json!([]));
}

#[test]
fn an_open_circuit_differs_from_a_failed_connection() {
    let open = failing(FaultKind::Unavailable).server_list(|| {
        let mut broken = server("git");
        broken.circuit = Circuit::Open;
        Ok(vec![broken])
    });
    assert_eq!(failure(&called(open, json!({})))["error_code"], "CIRCUIT_OPEN");
}

#[test]
fn not_found_names_the_server_or_the_tool() {
    let missing = || host().server_call(|_, _, _| Err(Fault::not_found("There is none.")));
    let answer = |server: &str, tool: &str| {
        let arguments = json!({"server": server, "tool": tool});
        failure(&call(missing(), "call_tool", arguments, "{}").unwrap())
    };
    let (server, tool) = (answer("gti", "status"), answer("git", "staus"));
    assert_eq!(
        (&server["error_code"], &tool["error_code"]),
        (&json!("SERVER_NOT_FOUND"), &json!("TOOL_NOT_FOUND"))
    );
    assert_eq!(server["hint"], "list_mcp_servers lists the servers.");
    assert_eq!(tool["hint"], "list_tools lists the server's tools.");
}

#[test]
fn wrong_arguments_are_answered_with_the_schema() {
    let answer = failure(&called(failing(FaultKind::InvalidArguments), json!({"arguments": {}})));
    assert_eq!(answer["schema"], json!({"type": "object", "required": ["path"]}));
}

#[test]
fn a_tool_error_is_reported_in_full() {
    let with_error = |text: String| {
        host().server_call(move |_, _, _| {
            let picture = Content::Image(Media { data: vec![1], mime_type: "image/png".into() });
            Ok(Reply { is_error: true, ..Reply::markdown(text.clone()).with(picture) })
        })
    };
    let reply = called(with_error("no such branch".into()), json!({}));
    assert_eq!((&failure(&reply)["error"], reply.content.len()), (&json!("no such branch"), 2));
    assert_eq!(failure(&reply)["error_code"], "EXECUTION_ERROR");
    let long = "word ".repeat(1_000);
    let reply = called(with_error(long.clone()), json!({}));
    assert!(failure(&reply)["error"].as_str().unwrap().ends_with('…'));
    assert_eq!(reply.content[1], Content::Text(long));
}

#[test]
fn an_empty_reply_suggests_other_tools() {
    let replies = |reply: Reply| {
        let host = host()
            .server_call(move |_, _, _| Ok(reply.clone()))
            .server_alternatives(|_, _, _, _| Ok(vec![alternative("web", "look")]));
        called(host, json!({}))
    };
    for empty in [Reply::markdown(" "), Reply::markdown("\n").with(Content::Text(String::new()))] {
        let reply = replies(empty);
        assert!(!reply.is_error);
        assert!(reply.text().ends_with(
            "The reply is empty.\nOther tools that fit:\nweb: look() Does it too. [0.12: 50 % match; not called yet.]"
        ));
    }
    for data in ["[]", "{}"] {
        assert_eq!(replies(Reply::markdown(data)).text(), data, "data without members is an answer");
    }
}

#[test]
fn an_intent_only_orders_the_suggestions() {
    let host = failing(FaultKind::TimedOut)
        .server_alternatives(|_, _, _, _| Ok(vec![alternative("web", "look"), alternative("git", "log")]))
        .server_search(|query| {
            assert_eq!(query.query, "the history");
            Ok(found(vec![hit("git", "push", 1.0), hit("git", "log", 0.5)]))
        });
    let answer = failure(&called(host, json!({"intent": "the history"})));
    let names: Vec<_> =
        answer["fallback_suggestions"].as_array().unwrap().iter().map(|one| &one["tool"]).collect();
    assert_eq!(names, ["log", "look"]);
}

#[test]
fn a_part_of_a_result_comes_with_the_way_to_the_whole() {
    let large = || {
        host().exposes(["get_workspace_file"]).server_call(|_, _, _| {
            Reply::markdown("as text").structured(&json!({"rows": [{"id": 1}, {"id": 2}]}))
        })
    };
    let kept = large().keeps_artifacts();
    let reply = called(kept, json!({"select": ".rows[].id"}));
    let Content::Text(note) = &reply.content[1] else { panic!("{reply:?}") };
    assert_eq!(reply.content[0], Content::Text("1\n2".into()));
    assert!(
        note.starts_with("select: 2 values of a result of 28 characters. The full result is stored as art-"),
        "{note}"
    );
    assert!(note.ends_with("; get_workspace_file reads any part."), "{note}");
    let denied = large().keeps_artifacts().fails("artifacts.put", Fault::denied("not granted"));
    let text = called(denied, json!({"select": ".rows[].id"})).text();
    assert!(text.ends_with("The rest is not stored."), "{text}");
}

#[test]
fn an_invalid_filter_is_rejected_before_the_call() {
    let untouched = host().server_call(|_, _, _| panic!("called"));
    let arguments = json!({"server": "git", "tool": "status", "select": ".a["});
    let fault = call(untouched, "call_tool", arguments, "{}").unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
}

#[test]
fn a_failing_filter_leaves_the_full_result() {
    let text =
        called(host().server_call(|_, _, _| Ok(Reply::markdown("no JSON"))), json!({"select": ".a"})).text();
    assert!(text.starts_with("no JSON\nselect failed; this is the full result: jq needs JSON"), "{text}");
}

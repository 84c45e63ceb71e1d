//! Tests of metrics, alternatives and the admin tools.

use gatehouse_sdk::{FaultKind, conformance, servers_admin::Added};
use serde_json::json;

use super::{alternative, answer, call, host, metrics};

const ADMIN: &str = r#"{"admin":true}"#;

#[test]
fn the_most_called_come_first() {
    let called = host().server_metrics(|filter| {
        assert_eq!((filter.server.as_deref(), filter.days), (Some("git"), Some(7)));
        Ok(vec![metrics("git", "log", 1, 0), metrics("git", "status", 4, 1)])
    });
    let (text, data) = answer(called, "get_tool_metrics", json!({"server": "git", "days": 7}));
    assert_eq!(
        text,
        "git: status: 4 calls, 75 % succeeded, 12.3 ms (p50 10, p95 50), last error: tool-error\n\
         git: log: 1 calls, 100 % succeeded, 12.3 ms (p50 10, p95 50)"
    );
    assert_eq!((&data["total_calls"], &data["metrics"][0]["success_rate"]), (&json!(5), &json!(0.75)));
    let (text, _) = answer(host().server_metrics(|_| Ok(vec![])), "get_tool_metrics", json!({}));
    assert_eq!(text, "No call was recorded.");
}

#[test]
fn the_order_is_by_calls_failures_or_latency_and_tools_with_few_calls_are_left_out() {
    let order = |arguments| {
        let called = host().server_metrics(|_| {
            let mut slow = metrics("web", "fetch", 10, 1);
            (slow.p95_ms, slow.mean_ms) = (None, 90.0);
            Ok(vec![metrics("git", "log", 1, 1), metrics("git", "status", 2_000, 3), slow])
        });
        let (text, data) = answer(called, "get_tool_metrics", arguments);
        let tools = data["metrics"].as_array().unwrap().iter().map(|one| one["tool"].as_str().unwrap());
        (tools.map(str::to_owned).collect::<Vec<_>>(), text)
    };
    assert_eq!(order(json!({"sort": "calls"})).0, ["status", "fetch", "log"]);
    assert_eq!(order(json!({"sort": "failures"})).0, ["log", "fetch", "status"]);
    assert_eq!(order(json!({"sort": "failures", "min_calls": 10})).0, ["fetch", "status"]);
    assert_eq!(order(json!({"sort": "latency"})).0, ["fetch", "status", "log"]);
    assert_eq!(order(json!({"min_calls": 5000})).1, "No tool was called 5000 times.");
    assert!(!conformance::accepts(&crate::gate(), "get_tool_metrics", r#"{"sort":"best"}"#));
}

#[test]
fn deleting_all_metrics_requires_confirmation() {
    let forgets = || host().server_reset_metrics(|filter| Ok(if filter.server.is_some() { 3 } else { 9 }));
    let reset = |arguments| call(forgets(), "reset_tool_metrics", arguments, ADMIN);
    assert_eq!(reset(json!({"server": "git", "confirm": "yes"})).unwrap().text(), "Deleted 3 records.");
    assert_eq!(reset(json!({"confirm": "all"})).unwrap().text(), "Deleted 9 records.");
    assert_eq!(reset(json!({"confirm": "yes"})).unwrap_err().kind, FaultKind::InvalidArguments);
    assert!(reset(json!({"server": "git"})).is_err());
}

#[test]
fn alternatives_have_factors_and_related_tools() {
    let known = host()
        .server_alternatives(|server, tool, error, limit| {
            assert_eq!((server, tool, error, limit), ("git", "status", Some("TIMEOUT"), 5));
            Ok(vec![alternative("web", "look")])
        })
        .server_related(|_, _, _| Ok(vec![]));
    let arguments = json!({"server": "git", "tool": "status", "error": "TIMEOUT"});
    let (text, data) = answer(known, "get_tool_alternatives", arguments.clone());
    assert_eq!(text, "web: look() Does it too. [0.12: 50 % match; not called yet.]");
    assert_eq!(data["alternatives"][0]["recency"], 0.49);
    let none = host().server_alternatives(|_, _, _, _| Ok(vec![])).server_related(|_, _, _| Ok(vec![]));
    assert_eq!(answer(none, "get_tool_alternatives", arguments).0, "No other tool does this.");
}

#[test]
fn an_unreachable_added_server_stays_with_a_reason() {
    let adds = |problem: Option<&'static str>| {
        host().server_change(move |name, definition| {
            assert_eq!((name, definition), ("git", "{\"command\":\"git-mcp\"}"));
            let tool_count = problem.is_none().then_some(2);
            Ok(Added { name: name.into(), tool_count, problem: problem.map(str::to_owned) })
        })
    };
    let add = |problem| {
        let arguments = json!({"name": "git", "definition": {"command": "git-mcp"}});
        call(adds(problem), "add_mcp_server", arguments, ADMIN).unwrap().text()
    };
    assert_eq!(add(None), "git is connected and has 2 tools.");
    assert_eq!(add(Some("no such file")), "git is configured, but could not be connected: no such file");
    let removes = host().server_remove(|name| Ok(name == "git"));
    let reply = call(removes, "remove_mcp_server", json!({"name": "git"}), ADMIN).unwrap();
    assert_eq!(reply.text(), "Removed.");
    assert_eq!(reply.structured.as_deref(), Some("{\"removed\":true}"));
    assert!(!conformance::accepts(&crate::gate(), "search_tools", "{}"));
}

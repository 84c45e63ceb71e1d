//! `gatehouse tools …`, and suggestions of related tools, both from recorded calls.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, Place, place::SHIPPED, repository, text_of};

/// A server with many behaviors, and presets that use it, one without its tool `kinds`.
fn place() -> Place {
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let presets = format!(
        "[servers.s]\ncommand = {server:?}\nargs = [\"stdio\"]\n[gates.proxy]\ngrants = [\"servers\"]\n\
         [gates.echo]\n[presets.p]\ngates.proxy = {{}}\n[presets.less]\nextends = [\"p\"]\ndeny = [\"s__kinds\"]\n\
         [presets.none]\ngates.echo = {{}}\n[host]\ndefault_preset = \"p\"\n"
    );
    Place::with(&presets, &["proxy", "echo"])
}

fn run(place: &Place, code: i32, arguments: &[&str]) -> String {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), code, "{arguments:?}:\n{}{}", ran.stdout(), ran.stderr());
    if code == 0 { ran.stdout() } else { ran.stderr() }
}

fn call(client: &mut Client, tool: &str) -> Value {
    let arguments = json!({"server": "s", "tool": tool, "arguments": {"text": "hello"}});
    client.call("call_tool", arguments)
}

#[test]
fn each_command_says_what_the_gate_says() {
    let place = place();
    assert!(run(&place, 0, &["tools", "metrics"]).starts_with("No calls were recorded."));
    assert!(!place.path("state/ledger.db").exists(), "reading creates no database");
    run(&place, 0, &["servers", "refresh", "s"]);
    let found = run(&place, 0, &["tools", "search", "say what it is told"]);
    assert!(found.starts_with("Fits:\ns: echo("), "{found}");
    let found = place.run(&["tools", "search", "say what it is told", "--json"]).json();
    assert_eq!((&found["results"][0]["server"], &found["results"][0]["tool"]), (&json!("s"), &json!("echo")));
    let schema = place.run(&["tools", "schema", "s", "echo", "--json"]).json();
    assert_eq!(schema["inputSchema"]["properties"]["text"]["type"], "string", "{schema}");
    let best =
        place.run(&["tools", "recommend", "say what it is told", "--mode", "semantic", "--json"]).json();
    assert_eq!(
        (&best["search_mode"], &best["recommendations"][0]["tool"]),
        (&json!("semantic"), &json!("echo"))
    );
    assert_eq!(run(&place, 0, &["tools", "call", "s", "echo", "{\"text\": \"hello\"}"]), "hello\n");
    let failed = place.run(&["tools", "call", "s", "fails", "--json"]);
    let result: Value = serde_json::from_str(&failed.stdout()).expect("JSON");
    assert_eq!((failed.code(), &result["isError"]), (1, &json!(true)));
    let others = place.run(&["tools", "alternatives", "s", "echo", "--json"]).json();
    assert!(others["alternatives"].is_array() && others["related"] == json!([]), "{others}");
    let refused = place.run(&["tools", "alternatives", "s", "echo", "--error", "DENIED", "--json"]).json();
    assert_eq!(refused["alternatives"], json!([]));
    let table = run(&place, 0, &["tools", "metrics", "s"]);
    assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["server", "s"], "{table}");
    assert_eq!(&rows[2][..5], ["echo", "1", "100", "0", "0"], "{table}");
    assert_eq!(&rows[3][..5], ["fails", "1", "0", "1", "0"], "{table}");
    assert!(rows[2].last().is_some_and(|line| line.ends_with('█')) && !table.contains('\u{1b}'), "{table}");
    let one = place.run(&["tools", "metrics", "s", "fails", "--days", "1", "--json"]).json();
    assert_eq!((&one["total_calls"], &one["metrics"][0]["by_day"]), (&json!(1), &json!([1])));
}

#[test]
fn what_is_missing_is_reported_with_what_exists() {
    let place = place();
    let without = run(&place, 2, &["tools", "search", "x", "--preset", "none"]);
    assert!(without.contains("preset 'none' has no tool 'search_tools' of the gate proxy."), "{without}");
    assert!(
        without.contains("Select a preset that has the gate with --preset: less, p, proxy, code, gateway."),
        "{without}"
    );
    run(&place, 0, &["tools", "call", "s", "echo", "{\"text\": \"x\"}"]);
    let none = run(&place, 0, &["tools", "metrics", "proxi"]);
    assert_eq!(none, "No calls of 'proxi' were recorded. Did you mean 'proxy'?\n");
    let bad = run(&place, 2, &["tools", "metrics", "--days", "0"]);
    assert!(bad.contains("--days"), "{bad}");
}

#[test]
fn what_is_called_next_is_shown_with_its_counts_and_never_what_the_preset_hides() {
    let place = place();
    let mut client = Client::start(&place, "p");
    let related = json!({"server": "s", "tool": "echo"});
    for round in 0..11 {
        if round == 9 {
            client.text("get_tool_metrics", json!({}));
            let thin = client.text("get_tool_alternatives", related.clone());
            assert!(!thin.contains("Often called next"), "{thin}");
        }
        for tool in ["echo", "kinds", "progress", "progress", "progress", "progress", "progress", "progress"]
        {
            assert_ne!(call(&mut client, tool)["isError"], true, "{tool}");
        }
    }
    // This tool waits until pending ledger entries are written.
    client.text("get_tool_metrics", json!({}));
    let reply = client.text("get_tool_alternatives", related.clone());
    assert!(reply.contains("Often called next: s: kinds (11 of 11, "), "{reply}");
    let task = json!({"task_description": "say what it is told", "top_k": 1});
    let reply = client.text("recommend_tools", task.clone());
    assert!(
        reply.starts_with("Fits:\ns: echo(") && reply.contains("Often called next: s: kinds (11 of 11, "),
        "{reply}"
    );
    assert_eq!(client.close(), Some(0));

    let mut client = Client::start(&place, "less");
    for (tool, arguments) in [("get_tool_alternatives", related), ("recommend_tools", task)] {
        let reply = client.text(tool, arguments);
        assert!(!reply.contains("kinds"), "{reply}");
    }
}

#[test]
fn what_the_same_callers_also_call_is_shown_and_each_client_over_stdio_is_a_caller() {
    let place = place();
    for caller in 0..10 {
        let mut client = Client::start(&place, "p");
        for tool in if caller < 5 { ["progress", "kinds"] } else { ["noise", "noise"] } {
            assert_ne!(call(&mut client, tool)["isError"], true, "{tool}");
        }
        assert_eq!(client.close(), Some(0));
    }
    let output = run(&place, 0, &["tools", "alternatives", "s", "kinds"]);
    assert!(
        output.contains("Often by the same callers: s: progress (5 of 5, 2 times as often as by chance)"),
        "{output}"
    );
    assert!(!output.contains("callers: s: noise"), "{output}");
}

#[test]
fn the_shipped_proxy_says_what_a_tool_is_for_and_what_its_last_failure_was() {
    let shipped = fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let place = Place::with(
        &format!("{shipped}\n[servers.s]\ncommand = {server:?}\nargs = [\"stdio\"]\ntags = [\"files\"]\n"),
        &SHIPPED,
    );
    run(&place, 0, &["servers", "refresh", "s"]);
    let mut client = Client::start(&place, "proxy");
    let listed = client.text("list_tools", json!({"server": "s"}));
    assert!(listed.starts_with("[files]\n") && listed.contains("\necho: "), "{listed}");
    let found = client.text("search_tools", json!({"query": "echo", "top_k": 1}));
    assert!(found.lines().nth(1).is_some_and(|line| line.ends_with(" [files]")), "{found}");
    for (tool, times) in [("echo", 3), ("fails", 2)] {
        (0..times).for_each(|_| drop(call(&mut client, tool)));
    }
    let metrics = |client: &mut Client, arguments| client.text("get_tool_metrics", arguments);
    let report = metrics(&mut client, json!({"server": "s", "sort": "failures"}));
    let first = report.lines().next().expect("a line");
    assert!(first.starts_with("s: fails: 2 calls, 0 % succeeded"), "{report}");
    assert!(first.ends_with(", last error: not today"), "{report}");
    let report = metrics(&mut client, json!({"server": "s", "min_calls": 3}));
    assert!(report.lines().count() == 1 && report.starts_with("s: echo: 3 calls"), "{report}");
}

#[test]
fn an_empty_reply_comes_with_other_tools_and_a_refusal_never_does() {
    let place = place();
    let mut client = Client::start(&place, "p");
    let empty = json!({"server": "s", "tool": "echo", "arguments": {"text": ""}});
    let empty = client.call("call_tool", empty);
    let text: String =
        empty["content"].as_array().into_iter().flatten().filter_map(|one| one["text"].as_str()).collect();
    assert!(text.contains("The reply is empty."), "{empty}");
    let failed: Value = serde_json::from_str(&text_of(&call(&mut client, "fails"))).expect("JSON");
    assert_eq!(failed["error_code"], "EXECUTION_ERROR");
    assert!(failed["fallback_suggestions"].is_array(), "{failed}");
    let wrong = json!({"server": "s", "tool": "echo", "arguments": {"text": 5}});
    let wrong: Value = serde_json::from_str(&text_of(&client.call("call_tool", wrong))).expect("JSON");
    assert_eq!(
        (&wrong["error_code"], &wrong["fallback_suggestions"]),
        (&json!("INVALID_ARGUMENTS"), &json!([]))
    );
    assert!(wrong["schema"].is_object() && wrong.get("hint").is_none(), "the schema is sent once: {wrong}");
}

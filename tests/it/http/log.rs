//! Logs about clients: rejected requests, with a rate limit, and optionally each call.

use serde_json::{Value, json};

use super::{STATELESS, TOKEN, list};
use crate::support::{Client, Http, Place};

const PRESETS: &str = "[presets.one]\ngates.echo = {}\n";

fn unknown_tool() -> Value {
    let mut call = list();
    call["method"] = json!("tools/call");
    call["params"]["name"] = json!("no_such_tool");
    call["params"]["arguments"] = json!({});
    call
}

#[test]
fn strangers_are_logged_and_cannot_flood_the_log() {
    let place = Place::with(PRESETS, &["echo"]);
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let with = |name: &'static str, value: &str| {
        host.post("/mcp", &list(), &[&STATELESS[..], &[(name, value)]].concat()).0
    };
    for number in 0..200 {
        assert_eq!(with("authorization", &format!("Bearer a-guess-{number}")), 401);
    }
    assert_eq!(with("host", "evil.example"), 403);
    assert_eq!(with("origin", "http://page.example"), 403);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [
        ("mcp-method", "tools/call"),
        ("mcp-name", "no_such_tool"),
        ("mcp-protocol-version", "2026-07-28"),
        ("authorization", &bearer),
    ];
    host.post("/mcp", &unknown_tool(), &headers);
    let log = host.log_with("no_such_tool");
    let of = |what: &str| log.lines().filter(|line| line.contains(what)).count();
    // The log allows ten lines in ten seconds; two hundred requests take a few seconds.
    let tokens = of("missing or invalid credential");
    assert!((1..=100).contains(&tokens), "{tokens} lines:\n{log}");
    assert!(log.contains("127.0.0.1:") && log.contains("/mcp"), "{log}");
    assert_eq!((of("evil.example"), of("page.example"), of("unknown tool")), (1, 1, 1), "{log}");
    assert!(!log.contains("a-guess") && !log.contains(TOKEN), "{log}");
}

#[test]
fn the_log_can_be_json_with_a_line_for_each_call() {
    let place = Place::with(PRESETS, &["echo"]);
    let arguments = ["--preset", "one", "--log-format", "json", "--log-calls"];
    let host = Http::with(&place, &arguments, &[]);
    let session = host.session("/mcp", &[]);
    let call = |text: Value| {
        host.request("/mcp", &session, "tools/call", json!({"name": "echo", "arguments": {"text": text}}))
    };
    call(json!("a secret text"));
    call(json!(5));
    let log = host.log_with("invalid-arguments");
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"))).collect();
    let calls: Vec<&Value> = lines.iter().filter(|line| line["message"] == "tools/call").collect();
    assert_eq!(calls.len(), 2, "{log}");
    let (good, bad) = (calls[0], calls[1]);
    assert_eq!(
        (&good["level"], &good["gen_ai.tool.name"], &good["preset"]),
        (&json!("INFO"), &json!("echo"), &json!("one"))
    );
    assert_eq!((&good["outcome"], &good["bytes"]), (&json!("ok"), &json!(13)), "{good}");
    assert!(good["ms"].as_f64().is_some_and(|ms| ms > 0.0), "{good}");
    assert_eq!(bad["outcome"], "invalid-arguments", "{bad}");
    assert!(!log.contains("secret"), "{log}");
}

#[test]
fn a_failure_is_json_too_where_the_log_is() {
    let place = Place::with(PRESETS, &["echo"]);
    let ran = place.run(&["serve", "--preset", "two", "--log-format", "json"]);
    assert_eq!(ran.code(), 2);
    let event: Value = serde_json::from_str(ran.stderr().trim()).expect("one line of JSON");
    assert_eq!(event["level"], "ERROR", "{event}");
    assert!(
        event["message"].as_str().is_some_and(|message| message.contains("unknown preset 'two'")),
        "{event}"
    );
}

#[test]
fn calls_are_logged_only_where_that_is_wanted() {
    let place = Place::with(PRESETS, &["echo"]);
    let mut client = Client::start(&place, "one");
    client.text("echo", json!({"text": "here"}));
    client.call("no_such_tool", json!({}));
    let log = client.log_with("unknown tool called");
    assert!(!log.contains("tools/call"), "{log}");
    for (flag, filter) in [("--log-calls", ""), ("--verbose", "error"), ("-v", "error")] {
        let environment = [("GATEHOUSE_LOG", filter)];
        let mut client = Client::raw(&place, &["serve", "--preset", "one", flag], &environment);
        client.initialize("2025-11-25");
        client.text("echo", json!({"text": "here"}));
        let log = client.log_with("tools/call");
        assert!(
            log.contains("tool=echo") && log.contains("preset=one") && log.contains("outcome=\"ok\""),
            "{flag}: {log}"
        );
    }
    let mut client = Client::raw(&place, &["serve", "--preset", "one", "-q"], &[("GATEHOUSE_LOG", "debug")]);
    client.initialize("2025-11-25");
    client.call("no_such_tool", json!({}));
    assert!(!client.log().contains("unknown tool called"), "{}", client.log());
}

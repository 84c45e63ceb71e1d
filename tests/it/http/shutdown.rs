//! The end: at once where nothing is asked, after a second where a call runs, and now where one insists.

use std::{
    io::Write,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{STATELESS, list};
use crate::support::{Client, Http, Place};

/// Less than what it took before there was an end to waiting, and much more than it takes.
const SOON: Duration = Duration::from_secs(4);

const PRESETS: &str = "[gates.vices]\nlimits = { time = \"2 min\" }\n[presets.one]\ngates.vices = {}\n";

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.expect("kill").success(), "the host was gone before it was told");
}

fn call(tool: &str) -> Value {
    let mut call = list();
    call["method"] = json!("tools/call");
    call["params"]["name"] = json!(tool);
    call["params"]["arguments"] = json!({});
    call
}

fn listen() -> Value {
    let mut listen = list();
    listen["method"] = json!("subscriptions/listen");
    listen["params"]["notifications"] = json!({"toolsListChanged": true});
    listen
}

const LISTENS: &str = "mcp-protocol-version: 2026-07-28\r\nmcp-method: subscriptions/listen\r\n";
const SLEEPS: &str = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: vice_sleep\r\n";

/// A connection on which this was asked and the answer is not read.
fn asked(host: &Http, message: &Value, headers: &str) -> std::net::TcpStream {
    let (address, body) = (host.address(), message.to_string());
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {}\r\n{headers}\r\n",
        body.len()
    );
    let mut stream = host.connect();
    stream.write_all((head + &body).as_bytes()).expect("a request");
    stream
}

/// Tells it to end and waits until it has.
fn ends(host: Http) -> (Option<i32>, Duration) {
    let start = Instant::now();
    signal(host.pid(), "TERM");
    (host.ended(), start.elapsed())
}

#[test]
fn a_host_over_http_ends_at_once_where_nothing_is_asked() {
    let place = Place::with(PRESETS, &["vices"]);
    let host = Http::start(&place, "one", &[]);
    let session = host.session("/mcp", &[]);
    let _events = host.events("/mcp", &session);
    let listening = asked(&host, &listen(), LISTENS);
    listening.peek(&mut [0; 1]).expect("a stream");
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let answer = agent.get(format!("{}/healthz", host.base)).call().expect("an answer");
    assert_eq!(answer.into_body().read_to_string().expect("a body"), r#"{"status":"ok"}"#);
    let _silent = host.connect();
    assert_eq!(host.post("/mcp", &list(), &STATELESS).0, 200);
    let (code, took) = ends(host);
    assert!(code == Some(0) && took < SOON, "{code:?} after {took:?}");
    drop((agent, listening));
}

#[test]
fn a_call_over_http_does_not_hold_up_the_end() {
    let place = Place::with(PRESETS, &["vices"]);
    let host = Http::start(&place, "one", &[]);
    let session = host.session("/mcp", &[]);
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "vice_sleep", "arguments": {}}});
    let in_session =
        asked(&host, &message, &format!("mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n"));
    in_session.peek(&mut [0; 1]).expect("a stream");
    let _alone = asked(&host, &call("vice_sleep"), SLEEPS);
    assert_eq!(host.post("/mcp", &list(), &STATELESS).0, 200);
    let (code, took) = ends(host);
    assert!(code == Some(0) && took < SOON, "{code:?} after {took:?}");
}

#[test]
fn a_second_signal_ends_everything_now() {
    let place = Place::with(PRESETS, &["vices"]);
    let host = Http::start(&place, "one", &[]);
    let _running = asked(&host, &call("vice_sleep"), SLEEPS);
    assert_eq!(host.post("/mcp", &list(), &STATELESS).0, 200);
    // Both wait for it while it is stopped, so that the second comes before the grace is over.
    for name in ["STOP", "TERM", "INT", "CONT"] {
        signal(host.pid(), name);
    }
    let code = host.ended();
    assert!([Some(130), Some(143)].contains(&code), "{code:?}");
}

#[test]
fn a_host_over_stdio_ends_with_its_client_whatever_is_open() {
    let place = Place::with(PRESETS, &["vices"]);
    let meta = list()["params"]["_meta"].clone();
    let mut client = Client::raw(&place, &["serve", "--preset", "one"], &[]);
    client.ask("subscriptions/listen", listen()["params"].clone());
    client.request("tools/list", json!({"_meta": meta}));
    let start = Instant::now();
    assert_eq!(client.close(), Some(0));
    assert!(start.elapsed() < SOON, "an open subscription: {:?}", start.elapsed());

    let mut client = Client::start(&place, "one");
    client.ask("tools/call", json!({"name": "vice_sleep", "arguments": {}}));
    client.tools();
    let start = Instant::now();
    assert_eq!(client.close(), Some(0));
    assert!(start.elapsed() < SOON, "a running call: {:?}", start.elapsed());
}

#[test]
fn a_call_that_ends_soon_is_answered_though_its_client_is_leaving() {
    let place = Place::with(PRESETS, &["vices"]);
    let mut client = Client::start(&place, "one");
    let call = client.ask("tools/call", json!({"name": "nap", "arguments": {}}));
    let answer = client.leave(call);
    assert_eq!(answer["result"]["content"][0]["text"], "rested", "{answer}");
}

#[test]
fn a_host_over_stdio_ends_when_it_is_told_to() {
    let place = Place::with(PRESETS, &["vices"]);
    let mut client = Client::start(&place, "one");
    client.ask("tools/call", json!({"name": "vice_sleep", "arguments": {}}));
    client.tools();
    let start = Instant::now();
    signal(client.pid(), "TERM");
    assert_eq!(client.ended().code(), Some(0));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

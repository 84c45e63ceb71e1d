//! Shutdown over HTTP and stdio: immediate without calls, else after calls end or the drain time passes; a second
//! signal ends it immediately.

use std::{
    io::{BufReader, Write},
    net::{TcpListener, TcpStream},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{STATELESS, list};
use crate::support::{
    Client, Http, Place,
    http::{Response, read_response},
    server::read,
};

const HELD: &str = "[presets.one]\ngates.fetch = {}\n[gates.fetch.http]\n";

const CUT: &str = "[http]\ndrain = \"500 ms\"\n[gates.vices]\nlimits = { time = \"2 min\" }\n[presets.one]\ngates.vices = {}\n";

/// Well above the time that a shutdown takes, and below the drain time.
const SOON: Duration = Duration::from_secs(4);

const PRESETS: &str = "[gates.vices]\nlimits = { time = \"2 min\" }\n[presets.one]\ngates.vices = {}\n";

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.expect("kill").success(), "the host ended before the signal");
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

/// Sends a request and leaves the answer unread.
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

struct Held(TcpListener);

impl Held {
    fn start() -> (Self, Place) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let place = Place::with(&format!("{HELD}\"http://{address}\" = {{}}\n"), &["fetch"]);
        (Self(listener), place)
    }

    fn arguments(&self) -> Value {
        json!({"url": format!("http://{}/", self.0.local_addr().expect("an address"))})
    }

    fn request(&self) -> TcpStream {
        let (stream, _) = self.0.accept().expect("a request");
        read(&mut BufReader::new(&stream)).expect("a whole request");
        stream
    }
}

fn release(mut held: TcpStream) {
    held.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\nconnection: close\r\n\r\nreleased")
        .expect("an answer");
}

fn not_ready(host: &Http) -> Response {
    loop {
        let ready = host.send("GET", "/readyz", &[], "");
        if ready.status != 200 {
            return ready;
        }
    }
}

#[test]
fn calls_over_http_end_before_their_host_does() {
    for name in ["TERM", "HUP"] {
        let (held, place) = Held::start();
        let host = Http::start(&place, "one", &[]);
        let session = host.session("/mcp", &[]);
        let params = json!({"name": "fetch", "arguments": held.arguments()});
        let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
        let headers = format!("mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n");
        let in_session = asked(&host, &message, &headers);
        let first = held.request();
        let mut alone = call("fetch");
        alone["params"]["arguments"] = held.arguments();
        let alone = asked(&host, &alone, &SLEEPS.replace("vice_sleep", "fetch"));
        let second = held.request();
        signal(host.pid(), name);
        let draining = not_ready(&host);
        assert_eq!(draining.status, 503, "{draining:?}");
        assert!(draining.body.contains(r#""status":"draining""#), "{draining:?}");
        assert_eq!(host.send("GET", "/healthz", &[], "").status, 200);
        // A load balancer may still send requests, so the host answers them.
        let (status, headers, body) = host.post("/mcp", &list(), &STATELESS);
        assert_eq!((status, headers.get("connection").map(String::as_str)), (200, Some("close")), "{body}");
        for held in [first, second] {
            release(held);
        }
        for stream in [in_session, alone] {
            let answer = read_response(stream);
            assert!(answer.status == 200 && answer.body.contains("released"), "{name}: {answer:?}");
        }
        assert!(host.log().contains("a second signal stops them immediately"), "{}", host.log());
        assert_eq!(host.ended(), Some(0), "{name}");
    }
}

#[test]
fn calls_over_http_that_have_no_time_to_end_get_an_error() {
    let place = Place::with(CUT, &["vices"]);
    let host = Http::start(&place, "one", &[]);
    let session = host.session("/mcp", &[]);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "vice_sleep", "arguments": {}}});
    let in_session =
        asked(&host, &message, &format!("mcp-protocol-version: 2025-11-25\r\nmcp-session-id: {session}\r\n"));
    in_session.peek(&mut [0; 1]).expect("a stream");
    let alone = asked(&host, &call("vice_sleep"), SLEEPS);
    assert_eq!(host.post("/mcp", &list(), &STATELESS).0, 200);
    let start = Instant::now();
    signal(host.pid(), "TERM");
    for stream in [in_session, alone] {
        let answer = read_response(stream);
        assert_eq!(answer.status, 200, "{answer:?}");
        let error = answer.body.lines().find(|line| line.contains(r#""error""#)).expect("an error");
        let error = error.strip_prefix("data:").unwrap_or(error).trim();
        let error: Value = serde_json::from_str(error).expect("JSON");
        assert_eq!((&error["id"], &error["error"]["code"]), (&json!(1), &json!(-32603)), "{error}");
        let reason = error["error"]["message"].as_str().expect("a message");
        assert!(reason.starts_with("the host shut down before this request finished"), "{reason}");
    }
    let (code, took) = (host.ended(), start.elapsed());
    assert!(code == Some(0) && took < SOON, "{code:?} after {took:?}");
}

#[test]
fn a_second_signal_ends_everything_now() {
    let place = Place::with(PRESETS, &["vices"]);
    let host = Http::start(&place, "one", &[]);
    let _running = asked(&host, &call("vice_sleep"), SLEEPS);
    assert_eq!(host.post("/mcp", &list(), &STATELESS).0, 200);
    // Both signals are pending while the process is stopped, so the second arrives within the drain time.
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
fn a_call_over_stdio_ends_before_its_host_does() {
    for name in ["TERM", "HUP"] {
        let (held, place) = Held::start();
        let mut client = Client::start(&place, "one");
        let call = client.ask("tools/call", json!({"name": "fetch", "arguments": held.arguments()}));
        let request = held.request();
        signal(client.pid(), name);
        client.log_with("draining");
        release(request);
        let answer = client.answer(call);
        assert!(answer.to_string().contains("released"), "{name}: {answer}");
        assert_eq!(client.ended().code(), Some(0), "{name}");
    }
}

#[test]
fn a_call_over_stdio_that_has_no_time_to_end_gets_an_error() {
    let place = Place::with(CUT, &["vices"]);
    let mut client = Client::start(&place, "one");
    let call = client.ask("tools/call", json!({"name": "vice_sleep", "arguments": {}}));
    client.tools();
    let start = Instant::now();
    signal(client.pid(), "TERM");
    let answer = client.answer(call);
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    assert_eq!(client.ended().code(), Some(0));
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

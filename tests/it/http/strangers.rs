//! Unauthenticated clients that leave requests unfinished: authenticated clients are still served, and memory stays
//! bounded.

use std::{
    io::{Read, Write},
    net::TcpStream,
    process::Command,
};

use serde_json::{Value, json};

use super::{STATELESS, TOKEN, list};
use crate::support::{Http, Place, http::read_response, place::binary};

const PRESETS: &str = "[presets.one]\ngates.echo = {}\n";

fn place(http: &str) -> Place {
    Place::with(&format!("[http]\n{http}\n{PRESETS}"), &["echo"])
}

fn bearer() -> String {
    format!("Bearer {TOKEN}")
}

fn head(host: &Http, method: &str, length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-method: {method}\r\nmcp-protocol-version: 2026-07-28\r\ncontent-length: {length}\r\n",
        host.address()
    )
}

fn served(host: &Http) {
    let (status, _, body) =
        host.post("/mcp", &list(), &[&STATELESS[..], &[("authorization", &bearer())]].concat());
    assert_eq!(status, 200, "{body}");
}

fn one_answer(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with("\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a head");
        text.push(char::from(byte[0]));
    }
    let lower = text.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or_else(|| panic!("no length in {text}"))];
    stream.read_exact(&mut body).expect("a body");
    text + &String::from_utf8_lossy(&body)
}

#[cfg(unix)]
#[test]
fn silent_sockets_do_not_shut_out_the_bearer() {
    let place = place("header_timeout = \"10 min\"");
    let mut command = Command::new("sh");
    let limited = "ulimit -n 200; exec \"$0\" serve --preset one --http 127.0.0.1:0";
    let known = place.command(&[]);
    command.args(["-c", limited]).arg(binary()).current_dir(place.folder.path()).env_clear();
    command.envs(known.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("GATEHOUSE_TOKEN", TOKEN);
    let host = Http::spawn(command);
    let silent: Vec<TcpStream> = (0..300).map(|_| host.connect()).collect();
    for _ in 0..20 {
        served(&host);
    }
    drop(silent);
}

#[test]
fn room_is_made_at_the_cost_of_those_who_are_not_known() {
    let place = place("connections = 8\nheader_timeout = \"10 min\"");
    let host = Http::start(&place, "one", &[("GATEHOUSE_TOKEN", TOKEN)]);
    // An authenticated request with a complete answer.
    let address = host.address();
    let request = format!("GET /none HTTP/1.1\r\nhost: {address}\r\nauthorization: {}\r\n\r\n", bearer());
    let mut known = host.connect();
    known.write_all(request.as_bytes()).expect("a request");
    assert!(one_answer(&mut known).contains("MCP is served at"));
    let mut strangers: Vec<TcpStream> = (0..20).map(|_| host.connect()).collect();
    served(&host);
    // The oldest unauthenticated connection was closed for a newer one.
    assert_eq!(strangers[0].read(&mut [0; 1]).ok(), Some(0), "closed");
    known.write_all(request.as_bytes()).expect("a request");
    assert!(one_answer(&mut known).contains("MCP is served at"), "it is still connected");
    let last = strangers.last_mut().expect("a stranger");
    last.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("a request");
    assert!(one_answer(last).contains("ok"), "the newest one is still connected");
}

#[test]
fn more_clients_than_places_are_all_answered() {
    let place = place("connections = 16");
    let host = Http::start(&place, "one", &[]);
    let request = format!("GET /none HTTP/1.1\r\nhost: {}\r\n\r\n", host.address());
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let mut stream = host.connect();
                for _ in 0..20 {
                    stream.write_all(request.as_bytes()).expect("a request");
                    let answer = one_answer(&mut stream);
                    assert!(answer.contains("MCP is served at"), "{answer}");
                    if answer.to_lowercase().contains("connection: close") {
                        stream = host.connect();
                    }
                }
            });
        }
    });
}

#[test]
fn who_does_not_finish_a_request_is_let_go() {
    let place = place("header_timeout = \"200 ms\"\nbody_timeout = \"300 ms\"\nidle_timeout = \"200 ms\"");
    let host = Http::start(&place, "one", &[]);
    let silent = read_response(host.connect());
    assert_eq!((silent.status, silent.body.as_str()), (0, ""), "{silent:?}");
    let slow = host.say("POST /mcp HTTP/1.1\r\nhost: local");
    assert!(slow.status == 0 || slow.status == 408, "{slow:?}");
    let body = host.say(format!("{}\r\n{{\"jsonrpc\":", head(&host, "tools/list", 500)));
    assert_eq!(body.status, 408, "{body:?}");
    let chunked = head(&host, "tools/list", 0).replace("content-length: 0", "transfer-encoding: chunked");
    assert_eq!(host.say(format!("{chunked}\r\n5\r\n{{\"js")).status, 408);
    let mut resting = host.connect();
    resting.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("a request");
    assert!(one_answer(&mut resting).contains("ok"));
    assert_eq!(resting.read(&mut [0; 1]).ok(), Some(0), "closed after a rest");
}

#[test]
fn headers_without_end_are_refused() {
    let place = place("");
    let host = Http::start(&place, "one", &[]);
    let line = format!("x-long: {}\r\n", "x".repeat(1_000));
    let response = host.say(format!("GET /healthz HTTP/1.1\r\nhost: localhost\r\n{}\r\n", line.repeat(90)));
    assert_eq!(response.status, 431, "{response:?}");
}

#[test]
fn who_does_not_read_a_reply_is_let_go() {
    let place = place("write_timeout = \"300 ms\"");
    let host = Http::start(&place, "one", &[("GATEHOUSE_LOG", "debug")]);
    let mut call = list();
    call["method"] = json!("tools/call");
    call["params"]["name"] = json!("big");
    call["params"]["arguments"] = json!({"bytes": 15 << 20});
    let body = call.to_string();
    let mut stream = host.connect();
    let request = format!("{}mcp-name: big\r\n\r\n{body}", head(&host, "tools/call", body.len()));
    stream.write_all(request.as_bytes()).expect("a request");
    host.log_with("the client does not read its reply");
    let cut = read_response(stream);
    assert!(cut.body.len() < 15 << 20, "{} bytes", cut.body.len());
}

#[test]
fn a_silent_stream_of_changes_outlives_every_timeout() {
    let times = "header_timeout = \"100 ms\"\nbody_timeout = \"100 ms\"\nwrite_timeout = \"100 ms\"\nidle_timeout = \"100 ms\"";
    let presets = format!("[http]\n{times}\n{PRESETS}");
    let place = Place::with(&presets, &["echo"]);
    let host = Http::start(&place, "one", &[]);
    let session = host.session("/mcp", &[]);
    let events = host.events("/mcp", &session);
    // Each iteration waits until the host closes a silent connection.
    for _ in 0..5 {
        assert_eq!(read_response(host.connect()).status, 0);
    }
    place.write("presets.toml", presets.replace("gates.echo = {}", "gates.echo = {}\ndeny = [\"big\"]"));
    assert_eq!(events.next()["method"], "notifications/tools/list_changed");
}

/// Returns the peak resident memory of the host in MiB.
#[cfg(target_os = "linux")]
fn resident(host: &Http) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", host.pid())).expect("the host lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") >> 10
}

#[cfg(target_os = "linux")]
#[test]
fn unfinished_bodies_take_bounded_memory_and_hold_up_nobody() {
    let place = place("body_timeout = \"10 min\"");
    let host = Http::start(&place, "one", &[]);
    served(&host);
    let before = resident(&host);
    let (length, sent) = (4_000_000, vec![b' '; 3_900_000]);
    let unfinished: Vec<TcpStream> = (0..80)
        .map(|_| {
            let mut stream = host.connect();
            stream
                .write_all(format!("{}\r\n", head(&host, "tools/list", length)).as_bytes())
                .expect("a head");
            stream.set_nonblocking(true).expect("nonblocking");
            let mut left = sent.as_slice();
            while let Ok(taken @ 1..) = stream.write(left) {
                left = &left[taken..];
            }
            stream
        })
        .collect();
    for _ in 0..10 {
        served(&host);
    }
    let grown = resident(&host).saturating_sub(before);
    assert!(grown < 160, "{grown} MB for {} bodies", unfinished.len());
}

#[test]
fn json_values_are_counted_over_http_too() {
    let place = place("");
    let host = Http::start(&place, "one", &[]);
    #[cfg(target_os = "linux")]
    let before = resident(&host);
    let mut call = list();
    call["method"] = json!("tools/call");
    call["params"]["name"] = json!("echo");
    call["params"]["arguments"] = json!({"text": vec![Value::from(0); 1_900_000]});
    let headers =
        [("mcp-method", "tools/call"), ("mcp-name", "echo"), ("mcp-protocol-version", "2026-07-28")];
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (status, _, body) = host.post("/mcp", &call, &headers);
                let answer: Value = serde_json::from_str(&body).expect("JSON");
                assert_eq!(
                    (status, &answer["id"], &answer["error"]["code"]),
                    (413, &json!(1), &json!(-32600))
                );
                assert_eq!(
                    answer["error"]["message"],
                    "the message has too many JSON values; the limit is 500000"
                );
            });
        }
    });
    #[cfg(target_os = "linux")]
    assert!(resident(&host) - before < 200, "{} MB, {before} before", resident(&host));
    call["params"]["arguments"] = json!({"text": "x".repeat(5 << 20)});
    assert_eq!(host.post("/mcp", &call, &headers).0, 413, "too many bytes");
    call["params"]["arguments"] = json!({"text": "x".repeat(3 << 20)});
    assert_eq!(host.post("/mcp", &call, &headers).0, 200, "many bytes");
}

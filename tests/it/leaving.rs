//! Clients that disconnect at any time cause no errors in the log.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
};

use serde_json::json;

use crate::support::{Http, Place, session::message};

const PRESETS: &str =
    "[gates.vices]\nlimits = { time = \"500 ms\", concurrency = 1 }\n[presets.p]\ngates.vices = {}\n";

#[test]
fn clients_that_leave_over_http_are_no_errors() {
    let place = Place::with(PRESETS, &["vices"]);
    let host = Http::start(&place, "p", &[]);
    let session = host.session("/mcp", &[]);
    let changes = host.events("/mcp", &session);
    host.break_off(
        "/mcp",
        &session,
        &message(5, "tools/call", json!({"name": "vice_sleep", "arguments": {}})),
    );
    // A stateless call is canceled when its client disconnects.
    let call = json!({"name": "vice_sleep", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let headers =
        [("mcp-method", "tools/call"), ("mcp-name", "vice_sleep"), ("mcp-protocol-version", "2026-07-28")];
    let request = host.bare("POST", "/mcp", &headers, &message(6, "tools/call", call).to_string());
    let mut leaving = host.connect();
    leaving.write_all(request.as_bytes()).expect("a request");
    drop(leaving);
    assert_eq!(host.send("DELETE", "/mcp", &[("mcp-session-id", &session)], "").status, 204);
    drop(changes);
    // Concurrency is 1, so this is answered after both calls ended.
    let other = host.session("/mcp", &[]);
    let params = json!({"name": "well_behaved", "arguments": {}});
    // The wait for a slot counts toward the time limit, so retry.
    while host.request("/mcp", &other, "tools/call", params.clone())["result"]["isError"] == true {}
    assert!(!host.log().contains("ERROR"), "{}", host.log());
}

#[test]
fn a_client_that_leaves_over_stdio_is_no_error() {
    let place = Place::with(PRESETS, &["vices"]);
    let mut command = place.command(&["serve", "--preset", "p"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut host = command.spawn().expect("start gatehouse");
    let mut stdin = host.stdin.take().expect("stdin");
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    writeln!(stdin, "{}", message(1, "initialize", params)).expect("a line");
    let mut answer = String::new();
    let mut stdout = BufReader::new(host.stdout.take().expect("stdout"));
    stdout.read_line(&mut answer).expect("an answer");
    drop(stdout);
    for id in 2..10 {
        writeln!(stdin, "{}", message(id, "tools/list", json!({}))).expect("a line");
    }
    writeln!(stdin, "{}", message(10, "tools/call", json!({"name": "vice_sleep", "arguments": {}})))
        .expect("a line");
    drop(stdin);
    let ended = host.wait_with_output().expect("the end");
    let log = String::from_utf8_lossy(&ended.stderr);
    assert!(!log.contains("ERROR"), "{log}");
    assert_eq!(ended.status.code(), Some(0), "{log}");
}

/// Short sessions of each preset that end while the host is still starting background tasks.
#[test]
fn sessions_that_end_at_once_leave_no_panic_in_the_log() {
    let place = Place::shipped();
    let info = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
    let first = message(1, "initialize", params).to_string();
    let session = |preset: &str| {
        let mut command = place.command(&["serve", "--preset", preset]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut host = command.spawn().expect("start gatehouse");
        let mut stdin = host.stdin.take().expect("stdin");
        writeln!(stdin, "{first}").expect("a line");
        let mut answer = String::new();
        BufReader::new(host.stdout.take().expect("stdout")).read_line(&mut answer).expect("an answer");
        drop(stdin);
        let ended = host.wait_with_output().expect("the end");
        let log = String::from_utf8_lossy(&ended.stderr);
        assert!(answer.contains("\"result\""), "{preset}: {answer}{log}");
        assert!(!log.contains("panicked"), "{preset}: {log}");
        assert_eq!(ended.status.code(), Some(0), "{preset}: {log}");
    };
    session("full");
    for preset in ["proxy", "full"] {
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..12).for_each(|_| session(preset)));
            }
        });
    }
}

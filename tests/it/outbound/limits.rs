//! Limits of HTTP requests and responses, and slow or broken servers.

use std::net::TcpListener;

use serde_json::json;

use super::{error, fails, fetch, host, with};
use crate::support::server::Server;

fn open(server: &Server) -> String {
    format!("\"{}\" = {{}}", server.host())
}

#[test]
fn large_answers_are_cut_off() {
    let server = Server::start();
    let (_place, mut client) = host(&open(&server));
    let text = fetch(&mut client, &server.url("/big?bytes=1000000"));
    assert!(text.len() > 1_000_000);
    for path in ["/big?bytes=8388609", "/flood"] {
        let text = fails(&mut client, "MCP_ERROR", &server.url(path));
        assert!(text.contains("answered with more than 8 MiB"), "{path}: {text}");
    }
    let text = fails(&mut client, "MCP_ERROR", &server.url("/headers?lines=9"));
    assert!(text.contains("bytes of headers; the limit is 65536"), "{text}");
    assert!(fetch(&mut client, &server.url("/")).ends_with("ok"));
}

#[test]
fn large_requests_are_not_sent() {
    let server = Server::start();
    let (_place, mut client) = host(&open(&server));
    let post = |bytes: u32| json!({"url": server.url("/"), "method": "POST", "body_bytes": bytes});
    let (kind, text) = error(&mut client, "fetch", post((4 << 20) + 1));
    assert!(kind == "MCP_ERROR" && text.contains("4194305 bytes; the limit is 4194304"), "{kind}: {text}");
    let long = format!("X: {}", "x".repeat(65_536));
    let (kind, text) = error(&mut client, "fetch", json!({"url": server.url("/"), "headers": [long]}));
    assert!(kind == "MCP_ERROR" && text.contains("the limit is 65536"), "{kind}: {text}");
    server.saw_nothing();
    client.text("fetch", post(4 << 20));
    assert_eq!(server.only().body.len(), 4 << 20);
}

#[test]
fn a_server_that_does_not_go_on_is_given_up() {
    let server = Server::start();
    let presets = format!(
        "[gates.fetch]\nlimits = {{ time = \"2 s\" }}\n[gates.fetch.http]\n{}\n[presets.web]\ngates.fetch = {{}}\n",
        open(&server)
    );
    let (_place, mut client) = with(&presets, "fetch", &[]);
    let own = json!({"url": server.url("/stuck"), "timeout_ms": 100});
    let (kind, text) = error(&mut client, "fetch", own);
    assert!(kind == "TIMEOUT" && text.contains("did not answer within 0.1 s"), "{kind}: {text}");
    // The deadline of the call applies even if the gate sets a longer timeout.
    let long = json!({"url": server.url("/stuck"), "timeout_ms": 3_600_000});
    assert_eq!(error(&mut client, "fetch", long).0, "TIMEOUT");
    assert!(fetch(&mut client, &server.url("/")).ends_with("ok"));
}

#[test]
fn nobody_listening_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let (_place, mut client) = host(&format!("\"http://{address}\" = {{}}"));
    let text = fails(&mut client, "UNAVAILABLE", &format!("http://{address}/secret-path"));
    assert!(text.contains(&format!("cannot reach http://{address}: Connection refused")), "{text}");
    assert!(!text.contains("secret-path"), "{text}");
}

#[test]
fn a_call_sends_so_many_requests_and_no_more() {
    let server = Server::start();
    let (_place, mut client) = host(&open(&server));
    let times = |times: u32| json!({"url": server.url("/"), "times": times});
    assert!(client.text("fetch", times(64)).ends_with("ok"));
    let (kind, text) = error(&mut client, "fetch", times(65));
    assert!(kind == "MCP_ERROR" && text.contains("limit of 64 HTTP requests in one call"), "{kind}: {text}");
    assert_eq!(server.seen().len(), 128, "the 65th was not sent");
}

#[test]
fn a_connection_serves_one_call_after_the_other() {
    let server = Server::start();
    let (_place, mut client) = host(&open(&server));
    for _ in 0..5 {
        fetch(&mut client, &server.url("/"));
    }
    assert_eq!((server.seen().len(), server.connections()), (5, 1));
}

#[test]
fn many_are_answered_in_order_each_for_itself() {
    let server = Server::start();
    let (_place, mut client) = host(&open(&server));
    let mut urls = vec![server.url("/status?code=404"), "http://other.example/".into(), server.url("/loop")];
    urls.extend((0..12).map(|_| server.url("/")));
    let text = client.text("fetch_many", json!({"urls": urls}));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 15, "{text}");
    assert_eq!(lines[0], "404 8 bytes as asked");
    assert!(lines[1].contains("Denied: gate 'fetch' may not reach http://other.example"), "{text}");
    assert!(lines[2].contains("Unavailable: "), "{text}");
    assert!(lines[3..].iter().all(|line| *line == "200 2 bytes ok"), "{text}");
    let many: Vec<String> = (0..17).map(|_| server.url("/")).collect();
    let text = client.text("fetch_many", json!({"urls": many}));
    assert_eq!(text.matches("17 requests in one batch; the limit is 16").count(), 17, "{text}");
}

#[test]
fn answers_of_many_share_one_room() {
    let server = Server::start();
    let (_place, mut client) = host(&open(&server));
    let urls: Vec<String> = (0..4).map(|_| server.url("/big?bytes=6000000")).collect();
    let text = client.text("fetch_many", json!({"urls": urls}));
    let whole = text.matches("200 6000000 bytes").count();
    let refused = text.matches("too large in total").count();
    assert!((1..=2).contains(&whole) && whole + refused == 4, "{text}");
}

#[test]
fn a_call_that_waits_for_a_server_can_be_given_up() {
    let server = Server::start();
    let presets = format!(
        "[gates.fetch]\nlimits = {{ time = \"60 s\", concurrency = 1 }}\n[gates.fetch.http]\n{}\n[presets.web]\ngates.fetch = {{}}\n",
        open(&server)
    );
    let (_place, mut client) = with(&presets, "fetch", &[]);
    let params = json!({"name": "fetch", "arguments": {"url": server.url("/stuck")}});
    let id = client.ask("tools/call", params);
    while server.seen().is_empty() {
        std::thread::yield_now();
    }
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    // Concurrency is 1, so this works only if the canceled call released its slot.
    assert!(fetch(&mut client, &server.url("/")).ends_with("ok"));
}

//! Serving over HTTP: authentication, preset paths, sessions and stateless requests.

mod endpoints;
mod log;
mod names;
mod page;
mod shutdown;
mod strangers;

use serde_json::{Value, json};

use crate::support::{Http, Place};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }}})
}

const STATELESS: [(&str, &str); 2] = [("mcp-method", "tools/list"), ("mcp-protocol-version", "2026-07-28")];

#[test]
fn each_preset_has_its_own_path() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    for (path, tools) in [
        ("/mcp", 13),
        ("/mcp/p/full", 13),
        ("/mcp/p/merger", 5),
        ("/mcp/p/ideation", 4),
        ("/mcp/p/context", 2),
    ] {
        let session = host.session(path, &[]);
        let listed = host.request(path, &session, "tools/list", json!({}));
        assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(tools), "{path}: {listed}");
    }
}

#[test]
fn a_hidden_tool_is_unknown_over_http_too() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    let session = host.session("/mcp/p/ideation", &[]);
    let params = json!({"name": "kg_index", "arguments": {"nonsense": true}});
    let answer = host.request("/mcp/p/ideation", &session, "tools/call", params);
    assert_eq!(answer["error"]["message"], "Unknown tool: 'kg_index'.");
}

#[test]
fn stateless_requests_need_no_session() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    let (status, _, body) = host.post("/mcp/p/merger", &list(), &STATELESS);
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("search_knowledge") && !body.contains("wiki_idea_search"), "{body}");
}

#[test]
fn an_unknown_preset_or_path_says_what_there_is() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    let (status, _, body) = host.post("/mcp/p/ful", &list(), &STATELESS);
    assert_eq!(status, 404);
    assert!(body.contains("Did you mean 'full'?"), "{body}");
    let (status, _, body) = host.post("/sse", &list(), &[]);
    assert_eq!(status, 404);
    assert!(body.contains("/mcp/p/<preset>"), "{body}");
}

#[test]
fn a_slash_at_the_end_means_the_same() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    for path in ["/mcp/", "/mcp/p/merger/", "/mcp/p/%6Derger"] {
        let (status, _, body) = host.post(path, &list(), &STATELESS);
        assert!(status == 200 && body.contains("search_knowledge"), "{path}: {status} {body}");
    }
}

#[test]
fn web_pages_are_kept_out() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    let with = |name: &'static str, value: &str| {
        let mut headers = STATELESS.to_vec();
        headers.push((name, value));
        host.post("/mcp", &list(), &headers).0
    };
    assert_eq!(with("origin", "http://evil.example"), 403);
    assert_eq!(with("origin", "null"), 403);
    assert_eq!(with("host", "evil.example"), 403);
    assert_eq!(with("origin", &host.base), 200);
}

#[test]
fn with_a_token_only_its_bearer_comes_in() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[("GATEHOUSE_TOKEN", TOKEN)]);
    let with = |value: Option<&str>| {
        let mut headers = STATELESS.to_vec();
        headers.extend(value.map(|value| ("authorization", value)));
        host.post("/mcp", &list(), &headers)
    };
    let (status, headers, body) = with(None);
    assert_eq!((status, headers.get("www-authenticate").map(String::as_str)), (401, Some("Bearer")));
    assert!(body.contains("GATEHOUSE_TOKEN"), "{body}");
    assert_eq!(with(Some("Bearer wrong")).0, 401);
    assert_eq!(with(Some(&format!("Bearer {TOKEN}"))).0, 200);
}

#[test]
fn beyond_loopback_a_token_is_required() {
    let place = Place::shipped();
    let ran = place.run(&["serve", "--http", "0.0.0.0:0"]);
    assert_eq!(ran.code(), 2);
    assert!(
        ran.stderr().contains("without a token") && ran.stderr().contains("GATEHOUSE_TOKEN"),
        "{}",
        ran.stderr()
    );
}

#[test]
fn a_port_that_is_taken_is_named() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    let address = host.base.trim_start_matches("http://").to_owned();
    let ran = place.run(&["serve", "--http", &address]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains(&address) && ran.stderr().contains("--http"), "{}", ran.stderr());
}

#[test]
fn arguments_in_a_string_are_parsed() {
    let place = Place::shipped();
    let host = Http::start(&place, "full", &[]);
    let session = host.session("/mcp", &[]);
    let params = json!({"name": "get_page_structure", "arguments": "{\"page_type\": \"heuristic\"}"});
    let answer = host.request("/mcp", &session, "tools/call", params);
    assert_ne!(answer["result"]["isError"], true, "{answer}");
    assert!(answer["result"].get("resultType").is_none(), "not a field of this protocol version: {answer}");
}

#[test]
fn a_client_that_leaves_in_the_middle_of_a_call_takes_the_call_with_it() {
    use std::{io::Write, net::TcpStream};

    let presets =
        "[gates.vices]\nlimits = { time = \"60 s\", concurrency = 1 }\n[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let host = Http::start(&place, "bad", &[]);
    let mut call = list();
    call["method"] = json!("tools/call");
    call["params"]["name"] = json!("vice_loop");
    call["params"]["arguments"] = json!({});
    let address = host.base.trim_start_matches("http://").to_owned();
    let body = call.to_string();
    let mut leaving = TcpStream::connect(&address).expect("a connection");
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-method: tools/call\r\nmcp-name: vice_loop\r\nmcp-protocol-version: 2026-07-28\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    leaving.write_all(head.as_bytes()).and_then(|()| leaving.write_all(body.as_bytes())).expect("a request");
    drop(leaving);
    // Concurrency is 1 and the loop runs for 60 s, so this succeeds only if that call was canceled.
    let session = host.session("/mcp", &[]);
    let params = json!({"name": "well_behaved", "arguments": {}});
    let answer = host.request("/mcp", &session, "tools/call", params);
    assert_eq!(answer["result"]["content"][0]["text"], "fine", "{answer}");
}

#[test]
fn a_thousand_calls_at_once_are_all_answered() {
    let place = Place::with("[presets.one]\ngates.echo = {}\n", &["echo"]);
    let host = Http::start(&place, "one", &[]);
    let mut call = list();
    call["method"] = json!("tools/call");
    call["params"]["name"] = json!("echo");
    call["params"]["arguments"] = json!({"text": "here"});
    let headers =
        [("mcp-method", "tools/call"), ("mcp-name", "echo"), ("mcp-protocol-version", "2026-07-28")];
    let answered: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..50)
            .map(|_| {
                scope.spawn(|| {
                    let calls = (0..20).map(|_| host.post("/mcp", &call, &headers));
                    calls.filter(|(status, _, body)| *status == 200 && body.contains("here")).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread")).sum()
    });
    assert_eq!(answered, 1_000);
}

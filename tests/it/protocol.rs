//! MCP basics: versions, ids, malformed messages, and a clean exit.

use serde_json::{Value, json};

use crate::support::{Client, Place};

#[test]
fn every_protocol_version_is_spoken() {
    let place = Place::shipped();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut client = Client::raw(&place, &["serve"], &[]);
        let info = client.initialize(version);
        assert_eq!(info["protocolVersion"], version);
        assert_eq!(info["serverInfo"]["name"], "gatehouse");
        assert_eq!(client.tools().len(), 13);
    }
}

#[test]
fn the_stateless_protocol_needs_no_handshake() {
    let place = Place::shipped();
    let mut client = Client::raw(&place, &["serve"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = client.request("server/discover", json!({"_meta": meta}));
    let versions = discovered["result"]["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    let listed = client.request("tools/list", json!({"_meta": meta}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(13), "{listed}");
    assert!(listed["result"]["ttlMs"].as_u64().is_some_and(|ttl| ttl > 0), "{listed}");
    let arguments = json!({"page_type": "heuristic"});
    let called = client
        .request("tools/call", json!({"name": "get_page_structure", "arguments": arguments, "_meta": meta}));
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
}

/// Claude Code asks for discovery, and begins a session on the same pipe all the same.
#[test]
fn a_session_may_begin_after_discovery() {
    let place = Place::shipped();
    let mut client = Client::raw(&place, &["serve"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = client.request("server/discover", json!({"_meta": meta}));
    assert!(discovered["result"]["supportedVersions"].is_array(), "{discovered}");
    client.initialize_with("2025-11-25", json!({}));
    let listed = client.request("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(13), "{listed}");
    assert!(listed["result"].get("ttlMs").is_none(), "{listed}");
    assert!(client.call("get_page_structure", json!({"page_type": "heuristic"}))["isError"] == false);
}

#[test]
fn tools_list_is_sorted_and_the_same_bytes_every_time() {
    let place = Place::shipped();
    let list = || {
        let mut client = Client::start(&place, "full");
        let listed = client.request("tools/list", json!({}));
        (client.tools(), listed["result"]["tools"].to_string())
    };
    // The first host compiles and describes the gates; the second reads the index.
    let ((names, cold), (_, warm)) = (list(), list());
    assert_eq!(cold, warm);
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names, sorted);
}

#[test]
fn an_unknown_tool_is_a_protocol_error_that_helps() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "full");
    let error = client.call("serch_knowledge", json!({}));
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "Unknown tool: 'serch_knowledge'. Did you mean 'search_knowledge'?");
}

#[test]
fn malformed_messages_get_the_right_error_and_harm_nobody() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "full");
    let mut code = |method: &str, params: Value| client.request(method, params)["error"]["code"].clone();
    assert_eq!(code("no/such/method", json!({})), -32601);
    assert_eq!(code("tools/call", json!({"name": 5})), -32602);
    assert_eq!(code("tools/call", json!({})), -32602);
    assert_eq!(code("tools/call", json!([])), -32602);
    assert_eq!(code("initialize", json!({"protocolVersion": 7})), -32602);
    client.send_line("this is not JSON");
    client.send_line("{\"jsonrpc\": \"2.0\"");
    assert_eq!(client.tools().len(), 13);
    let codes: Vec<_> = client.notifications.iter().map(|answer| answer["error"]["code"].clone()).collect();
    assert_eq!(codes, [-32700, -32700], "errors have no id");
}

#[test]
fn a_line_over_16_mib_is_answered() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "full");
    let error = client.call("search_knowledge", json!({"query": "x".repeat(17 << 20)}));
    assert_eq!(error["code"], -32600);
    assert!(error["message"].as_str().expect("a message").contains("the limit is 16777216"), "{error}");
    assert_eq!(client.tools().len(), 13);
}

#[test]
fn a_host_ends_when_its_client_does() {
    let place = Place::shipped();
    let client = Client::start(&place, "full");
    assert_eq!(client.close(), Some(0));
    let silent = Client::raw(&place, &["serve"], &[]);
    assert_eq!(silent.close(), Some(0), "a client that disconnects without a message");
}

#[test]
fn a_thousand_calls_in_flight_are_all_answered() {
    let place = Place::with("[presets.p]\ngates.echo = {}\n", &["echo"]);
    let mut client = Client::start(&place, "p");
    let asked: Vec<(u64, String)> = (0..1_000)
        .map(|n| {
            let text = format!("call number {n}");
            (client.ask("tools/call", json!({"name": "echo", "arguments": {"text": text}})), text)
        })
        .collect();
    for (id, text) in asked {
        assert_eq!(client.answer(id)["result"]["content"][0]["text"], text);
    }
}

#[test]
fn standard_output_carries_nothing_but_the_protocol() {
    let place = Place::shipped();
    let mut client = Client::raw(&place, &["serve"], &[("GATEHOUSE_LOG", "trace")]);
    client.initialize("2025-11-25");
    client.call("search_knowledge", json!({"query": "anything"}));
    client.call("no_such_tool", json!({}));
    assert!(client.notifications.iter().all(|message| message.get("not protocol").is_none()));
    client.log_with("tools/call");
}

#[test]
fn arguments_are_not_logged_by_default() {
    let place = Place::shipped();
    let mut client = Client::raw(&place, &["serve"], &[("GATEHOUSE_LOG", "debug")]);
    client.initialize("2025-11-25");
    client.call("search_knowledge", json!({"query": "a secret text"}));
    client.call("search_knowledge", json!({"query": 5, "note": "another secret"}));
    // The log line of the second call follows any line that could contain the first secret.
    let log = client.log_with("invalid-arguments");
    assert!(log.contains("search_knowledge") && !log.contains("secret"), "{log}");
}

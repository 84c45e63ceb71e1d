//! Protocol versions per connection: old servers work with new clients, and new ones with old clients.

use serde_json::{Value, json};

use super::{Listening, child, showing};
use crate::support::{Client, Place, Ran, host::PATIENCE};

fn both() -> (Place, [Listening; 3]) {
    let old = Listening::start("http", &["version=2025-03-26"]);
    let new = Listening::start("http", &["era=new"]);
    let sse = Listening::start("sse", &["version=2024-11-05"]);
    let blocks = [
        child("old", &["version=2024-11-05"], ""),
        child("new", &["era=new"], ""),
        old.block("oldhttp", "http"),
        new.block("newhttp", "http"),
        sse.block("sse", "sse"),
    ];
    let place = showing(&["old", "new", "oldhttp", "newhttp", "sse"], &blocks.concat());
    (place, [old, new, sse])
}

const SERVERS: [&str; 5] = ["old", "new", "oldhttp", "newhttp", "sse"];

#[test]
fn servers_of_both_eras_answer_an_old_client() {
    let (place, _servers) = both();
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    assert_eq!(client.initialize("2024-11-05")["protocolVersion"], "2024-11-05");
    for server in SERVERS {
        assert_eq!(client.text(&format!("{server}__echo"), json!({"text": server})), server);
    }
}

#[test]
fn servers_of_both_eras_answer_a_new_client() {
    let (place, _servers) = both();
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut ask = |method: &str, mut params: Value| {
        params["_meta"] = meta.clone();
        client.request(method, params)
    };
    let found = ask("server/discover", json!({}));
    assert!(found["result"]["supportedVersions"].to_string().contains("2026-07-28"), "{found}");
    for server in SERVERS {
        let answer =
            ask("tools/call", json!({"name": format!("{server}__echo"), "arguments": {"text": server}}));
        assert_eq!(answer["result"]["content"][0]["text"], server, "{answer}");
    }
}

#[test]
fn a_client_that_cannot_be_asked_is_not_in_both_eras() {
    let (place, _servers) = both();
    let mut client = Client::start(&place, "all");
    let error = client.fails("new__ask", json!({}));
    assert!(
        error.contains(
            "server 'new' needs input from the client: the client 'test' cannot show a form to the user"
        ),
        "{error}"
    );
    // A server of the old era gets the refusal itself, and chooses its answer.
    let text = client.text("old__ask", json!({}));
    assert!(text.starts_with("the client 'test' cannot show a form to the user"), "{text}");
}

#[test]
fn servers_of_both_eras_ask_an_old_client() {
    let (place, _servers) = both();
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    client.initialize_with("2025-11-25", json!({"elicitation": {}}));
    for server in SERVERS {
        let call = client.ask("tools/call", json!({"name": format!("{server}__ask"), "arguments": {}}));
        let asked = client.next_question();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        assert_eq!(asked["params"]["message"], format!("Server '{server}' asks: Who are you?"));
        let answer = json!({"action": "accept", "content": {"name": "Ada"}});
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
        let text = client.answer(call)["result"]["content"][0]["text"].to_string();
        assert!(text.contains("Ada"), "{server}: {text}");
        // The server's state token is returned to it.
        assert_eq!(text.contains("asked"), server.starts_with("new"), "{server}: {text}");
    }
}

#[test]
fn servers_of_both_eras_ask_a_new_client() {
    let (place, _servers) = both();
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
    });
    for server in SERVERS {
        let mut params = json!({"name": format!("{server}__ask"), "arguments": {}, "_meta": meta});
        let asked = client.request("tools/call", params.clone());
        let result = &asked["result"];
        assert_eq!(result["resultType"], "input_required", "{server}: {asked}");
        let message = &result["inputRequests"]["1"]["params"]["message"];
        assert_eq!(*message, format!("Server '{server}' asks: Who are you?"), "{asked}");
        params["requestState"] = result["requestState"].clone();
        params["inputResponses"] = json!({"1": {"action": "accept", "content": {"name": "Ada"}}});
        let answer = client.request("tools/call", params);
        let text = answer["result"]["content"][0]["text"].to_string();
        assert!(text.contains("Ada"), "{server}: {answer}");
    }
}

#[test]
fn a_server_of_the_oldest_http_transport_is_found_by_its_address() {
    let sse = Listening::start("sse", &["version=2024-11-05"]);
    let block = sse.block("old", "sse").replace("transport = \"sse\"\n", "");
    let place = showing(&["old"], &block);
    for _ in 0..2 {
        let mut client = Client::start(&place, "all");
        assert_eq!(client.text("old__echo", json!({"text": "here"})), "here");
    }
}

/// Answers nothing before `initialize`, and records the method of each message.
const SILENT: &str = r#"while read -r line; do
    id=$(printf '%s' "$line" | sed 's/.*"id":\([0-9]*\),.*/\1/')
    printf '%s' "$line" | sed 's/.*"method":"\([^"]*\)".*/\1/' >> methods; echo >> methods
    case "$line" in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"hush","inputSchema":{"type":"object"}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"hushed"}]}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done"#;

#[test]
fn a_server_that_ignores_discovery_is_asked_for_it_once() {
    let block = format!("[servers.s]\ncommand = \"sh\"\nargs = [\"-c\", {}]\n", json!(SILENT));
    let place = showing(&["s"], &block);
    let mut first = Vec::new();
    for _ in 0..2 {
        let mut client = Client::start(&place, "all");
        client.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "s__hush"));
        assert_eq!(client.text("s__hush", json!({})), "hushed");
        assert_eq!(client.close(), Some(0));
        let methods = std::fs::read_to_string(place.path("methods")).expect("its messages");
        first.push(methods.lines().next().unwrap_or_default().to_owned());
        std::fs::remove_file(place.path("methods")).expect("removed");
    }
    assert_eq!(first, ["server/discover", "initialize"]);
    // `refresh` begins as the first time.
    let refreshed = Ran(place.command(&["servers", "refresh", "s"]).output().expect("run gatehouse"));
    assert_eq!(refreshed.code(), 0, "{}", refreshed.stderr());
    let methods = std::fs::read_to_string(place.path("methods")).expect("its messages");
    assert!(methods.starts_with("server/discover\ninitialize\n"), "{methods}");
}

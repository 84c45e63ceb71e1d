//! Hot reload over HTTP: sessions, subscriptions, added and removed presets.

use serde_json::json;

use crate::support::{Client, Http, Place};

const PRESETS: &str = "[presets.one]\ngates.echo = {}\n[presets.two]\ngates.vices = {}\n";
const CHANGED: &str = "notifications/tools/list_changed";

fn meta() -> serde_json::Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn a_session_is_notified_of_its_own_preset_only() {
    let place = Place::with(PRESETS, &["echo", "vices"]);
    let host = Http::start(&place, "one", &[]);
    let (one, two) = (host.session("/mcp/p/one", &[]), host.session("/mcp/p/two", &[]));
    let (heard, quiet) = (host.events("/mcp/p/one", &one), host.events("/mcp/p/two", &two));
    place.write("presets.toml", PRESETS.replace("[presets.two]", "deny = [\"big\"]\n[presets.two]"));
    assert_eq!(heard.next()["method"], CHANGED);
    let listed = host.request("/mcp/p/one", &one, "tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(1), "{listed}");
    // The first notification of the other session is about its own change.
    place.write("presets.toml", PRESETS.replace("gates.vices = {}", "gates.vices = {}\ndeny = [\"vice_*\"]"));
    assert_eq!(quiet.next()["method"], CHANGED);
    assert_eq!(heard.next()["method"], CHANGED);
    let listed = host.request("/mcp/p/two", &two, "tools/list", json!({}));
    assert!(!listed.to_string().contains("vice_loop"), "{listed}");
}

#[test]
fn presets_come_and_go() {
    let place = Place::with(PRESETS, &["echo", "vices"]);
    let host = Http::start(&place, "one", &[]);
    let two = host.session("/mcp/p/two", &[]);
    let events = host.events("/mcp/p/two", &two);
    place.write("presets.toml", "[presets.one]\ngates.echo = {}\n[presets.three]\ngates.vices = {}\n");
    assert_eq!(events.next()["method"], CHANGED);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let (status, _, body) = host.post("/mcp/p/two", &message, &[("mcp-session-id", &two)]);
    assert_eq!(status, 404, "{body}");
    assert!(body.contains("unknown preset 'two'") && body.contains("one, three"), "{body}");
    let three = host.session("/mcp/p/three", &[]);
    let listed = host.request("/mcp/p/three", &three, "tools/list", json!({}));
    assert!(listed.to_string().contains("well_behaved"), "{listed}");
}

#[test]
fn a_subscription_hears_of_changes_over_http() {
    let place = Place::with(PRESETS, &["echo", "vices"]);
    let host = Http::start(&place, "one", &[]);
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params});
    let request = ureq::post(format!("{}/mcp/p/one", host.base))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-method", "subscriptions/listen")
        .header("mcp-protocol-version", "2026-07-28");
    let events = Http::follow(request.send(message.to_string()).expect("a stream"));
    assert_eq!(events.next()["method"], "notifications/subscriptions/acknowledged");
    place.replace_gate("echo", &place.gate_bytes("vices"));
    assert_eq!(events.next()["method"], CHANGED);
}

#[test]
fn a_subscription_hears_of_changes_over_stdio() {
    let place = Place::with(PRESETS, &["echo"]);
    let mut client = Client::raw(&place, &["serve", "--preset", "one"], &[]);
    let params = json!({"notifications": {"toolsListChanged": true}, "_meta": meta()});
    client.ask("subscriptions/listen", params);
    while !client.notifications.iter().any(|n| n["method"] == "notifications/subscriptions/acknowledged") {
        let message = client.next_message();
        assert!(message.get("error").is_none(), "{message}");
        client.keep(message);
    }
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.wait_for_list_changes(1);
}

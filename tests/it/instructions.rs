//! Instructions for the client's model: introductions of the preset's gates, then the text of the preset.

use serde_json::json;

use crate::support::{Client, Http, Place, session::events};

fn instructions(place: &Place, preset: &str) -> String {
    let mut client = Client::raw(place, &["serve", "--preset", preset], &[]);
    let info = client.initialize("2025-11-25");
    info["instructions"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn gates_are_introduced_in_the_order_of_the_preset() {
    let place = Place::shipped();
    let full = instructions(&place, "full");
    let at = |part: &str| full.find(part).unwrap_or_else(|| panic!("no {part:?} in {full}"));
    let order = [at("\n- kg: "), at("\n- idea: "), at("\n- code: "), at("\n- research: ")];
    assert!(order.is_sorted(), "{full}");
    assert!(
        full.ends_with("\n\nEvery shipped gate except `proxy` and `script`, with its defaults."),
        "{full}"
    );
    let context = instructions(&place, "context");
    assert!(context.contains("\n- idea: ") && !context.contains("- kg:"), "{context}");
}

#[test]
fn a_gate_whose_tools_are_denied_is_not_named() {
    let presets = "[presets.p]\ngates.echo = {}\ngates.caller = {}\ndeny = [\"list\", \"run*\", \"d*\"]\n";
    let place = Place::with(presets, &["echo", "caller"]);
    let text = instructions(&place, "p");
    assert!(text.contains("\n- echo: ") && !text.contains("caller"), "{text}");
}

#[test]
fn every_way_in_tells_the_same() {
    let place = Place::shipped();
    let over_stdio = instructions(&place, "ideation");
    let host = Http::start(&place, "full", &[]);
    let (_, opened) = host.initialize("/mcp/p/ideation", "2025-06-18");
    let opened = opened.last().expect("an event").message();
    assert_eq!(opened["result"]["instructions"], over_stdio);
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": meta});
    let headers = [("mcp-method", "server/discover"), ("mcp-protocol-version", "2026-07-28")];
    let (_, _, body) = host.post("/mcp/p/ideation", &message, &headers);
    let discovered = events(&body).last().expect("an event").message();
    assert_eq!(discovered["result"]["instructions"], over_stdio, "{body}");
}

//! Network access of gates: only hosts in `presets.toml`, within limits, without leaking secrets.

mod limits;
mod rules;
mod secrets;
mod wasi;

use serde_json::json;

use crate::support::{Client, Place, fault_of};

fn host_of(gate: &str, block: &str, environment: &[(&str, &str)]) -> (Place, Client) {
    let presets = format!("[gates.{gate}.http]\n{block}\n\n[presets.web]\ngates.{gate} = {{}}\n");
    with(&presets, gate, environment)
}

fn host(block: &str) -> (Place, Client) {
    host_of("fetch", block, &[])
}

fn with(presets: &str, gate: &str, environment: &[(&str, &str)]) -> (Place, Client) {
    let place = Place::with(presets, &[gate]);
    let mut client = Client::raw(&place, &["serve", "--preset", "web"], environment);
    client.initialize("2025-11-25");
    (place, client)
}

fn error(client: &mut Client, tool: &str, arguments: serde_json::Value) -> (String, String) {
    let result = client.call(tool, arguments);
    assert_eq!(result["isError"], true, "{result}");
    let kind = fault_of(&result)["type"].as_str().expect("a type").to_owned();
    (kind, crate::support::text_of(&result))
}

fn fails(client: &mut Client, kind: &str, url: &str) -> String {
    let (found, text) = error(client, "fetch", json!({"url": url}));
    assert_eq!(found, kind, "{url}: {text}");
    text
}

fn fetch(client: &mut Client, url: &str) -> String {
    client.text("fetch", json!({"url": url}))
}

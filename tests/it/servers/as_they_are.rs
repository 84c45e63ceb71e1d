//! What servers list and send in ways that other clients accept.

use serde_json::{Value, json};

use super::child;
use crate::support::{Client, Place, host::PATIENCE};

fn serving(tools: &Value) -> Place {
    let place = Place::with("", &[]);
    let file = place.write("tools.json", tools.to_string());
    let block = child("s", &[&format!("tools={}", file.display())], "");
    place.write("presets.toml", block + "[presets.all]\nservers = [\"s\"]\n");
    place
}

fn client(place: &Place, capabilities: Value) -> Client {
    let mut client = Client::raw(place, &["serve", "--preset", "all"], &[]);
    client.initialize_with("2025-11-25", capabilities);
    client
}

#[test]
fn an_interface_gets_its_data_in_every_preset() {
    let output = json!({"type": "object", "properties": {"config": {"type": "object"}}});
    let tools = json!([{"name": "budget", "inputSchema": {"type": "object"}, "outputSchema": output,
        "_meta": {"ui": {"resourceUri": "ui://budget"}}, "reply": {"config": {"total": 5}}}]);
    let place = serving(&tools);
    let apps =
        json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}});
    for (capabilities, has_interfaces) in [(apps, true), (json!({}), false)] {
        let mut client = client(&place, capabilities);
        client.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "s__budget"));
        let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
        let listed =
            listed.as_array().expect("tools").iter().find(|tool| tool["name"] == "s__budget").cloned();
        let listed = listed.expect("a tool");
        assert_eq!(listed["outputSchema"] == output, has_interfaces, "{listed}");
        let called = client.call("s__budget", json!({}));
        assert_eq!(called["structuredContent"]["config"]["total"] == 5, has_interfaces, "{called}");
        assert_eq!(called["content"][0]["text"], "{\"config\":{\"total\":5}}", "for the model");
        assert_eq!(client.close(), Some(0));
    }
}

#[test]
fn names_schemas_and_arguments_of_any_kind_work() {
    let pattern =
        json!({"type": "object", "properties": {"to": {"type": "string", "pattern": "^(?!\\.).+$"}}});
    let scale = json!({"type": "object", "required": ["n", "scale"], "properties": {
        "n": {"type": "integer"}, "scale": {"type": "string", "default": "css"}}});
    let tools = json!([
        {"name": "repo/list", "inputSchema": {}, "reply": "listed"},
        {"name": "查询天气", "inputSchema": pattern, "reply": "sunny"},
        {"name": "shot", "inputSchema": scale, "reply": "taken"},
    ]);
    let place = serving(&tools);
    let mut client = client(&place, json!({}));
    client.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "s__shot"));
    let listed = client.tools();
    let shown = |start: &str| listed.iter().find(|name| name.starts_with(start)).cloned().expect("a tool");
    assert_eq!(client.text(&shown("s__repo_list_"), json!({})), "listed");
    assert_eq!(client.text(&shown("s______"), json!({"to": "you"})), "sunny");
    assert_eq!(client.text("s__shot", json!({"n": "5"})), "taken");
    let refused = client.call("s__shot", json!({"n": "05"})).to_string();
    assert!(refused.contains("'n' must be an integer, got a string"), "{refused}");
}

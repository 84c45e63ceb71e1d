//! Replies as data: only clients of presets that say so get output schemas and structured content, tools that
//! call tools always do, and nobody gets either with an error.

use serde_json::{Value, json};

use crate::support::{Client, Place, fault_of, text_of};

const PRESETS: &str = "[gates.caller]\ngrants = [\"catalog\"]\n[gates.kg]\ngrants = [\"knowledge\"]\n\
    [presets.text]\ngates.caller = {}\ngates.kg = {}\n\
    [presets.data]\nextends = [\"text\"]\nstructured = true\n\
    [presets.more]\nextends = [\"data\"]\n[presets.less]\nextends = [\"data\"]\nstructured = false\n";

fn place() -> Place {
    Place::with(PRESETS, &["caller", "kg"])
}

fn tool(client: &mut Client, name: &str) -> Value {
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    tools.iter().find(|tool| tool["name"] == name).expect("the tool").clone()
}

#[test]
fn clients_get_data_only_where_their_preset_says_so() {
    let place = place();
    for (preset, structured) in [("text", false), ("data", true), ("more", true), ("less", false)] {
        let mut client = Client::start(&place, preset);
        let listed = tool(&mut client, "get_page_structure");
        assert_eq!(listed.get("outputSchema").is_some(), structured, "{preset}: {listed}");
        let result = client.call("get_page_structure", json!({"page_type": "heuristic"}));
        assert!(text_of(&result).contains("Reasoning"), "{result}");
        assert_eq!(result.get("structuredContent").is_some(), structured, "{preset}: {result}");
        assert!(result.get("_meta").is_none(), "{result}");
    }
}

#[test]
fn tools_that_call_tools_always_get_data() {
    let place = place();
    let mut client = Client::start(&place, "text");
    let run = json!({"tool": "get_page_structure", "arguments": {"page_type": "heuristic"}});
    let data: Value = serde_json::from_str(&client.text("data", run)).expect("data");
    assert_eq!(data["page_type"], "Heuristic", "{data}");
}

#[test]
fn a_fault_says_its_type_in_the_text_and_its_parts_in_meta() {
    let place = place();
    for preset in ["text", "data"] {
        let mut client = Client::start(&place, preset);
        let result = client.call("get_page_structure", json!({"page_type": "herustic"}));
        let fault = fault_of(&result);
        assert_eq!(
            (&fault["type"], &fault["recoverable"]),
            (&json!("VALIDATION"), &json!(false)),
            "{result}"
        );
        assert!(fault["suggestion"].as_str().is_some_and(|next| next.starts_with("Expected: {")), "{result}");
        assert!(text_of(&result).starts_with("Invalid arguments: "), "{result}");
    }
}

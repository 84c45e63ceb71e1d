//! Reply filters, with a gate whose behavior the reply's text selects, and artifacts as arguments of later calls.

use serde_json::{Value, json};

use crate::support::{Client, Place, fault_of, text_of};

const PRESETS: &str = r#"
[gates.shortener]
grants = ["artifacts"]
limits = { time = "1 s" }

[gates.kg]
grants = ["knowledge"]

[gates.caller]
grants = ["catalog"]

[presets.plain]
gates.echo = {}
gates.kg = {}
gates.caller = {}
gates.shortener = {}
structured = true

[presets.short]
extends = ["plain"]
[presets.short.filters]
shortener = ["ech*", "kg.get_page_structure", "shortener.*"]

[presets.wrong]
gates.echo = {}
[presets.wrong.filters]
echo = ["*"]
"#;

fn place() -> Place {
    Place::with(PRESETS, &["echo", "kg", "caller", "shortener"])
}

/// A text above the threshold that starts with the filter's instruction.
fn long(how: &str) -> Value {
    json!({"text": format!("{how} {}", "y\n".repeat(2_000))})
}

fn with(place: &Place, environment: &[(&str, &str)]) -> Client {
    let mut client = Client::raw(place, &["serve", "--preset", "short"], environment);
    client.initialize("2025-11-25");
    client
}

fn first_word(text: &str) -> &str {
    text.split(' ').next().unwrap_or_default()
}

#[test]
fn a_preset_says_whose_replies_are_shortened() {
    let place = place();
    let mut client = Client::start(&place, "short");
    assert_eq!(client.text("echo", long("short")), "echo of echo: 4006 bytes");
    let whose = client.text("echo", long("whose"));
    assert_eq!(whose, "None short {\"threshold_bytes\":2048}");
    assert_eq!(first_word(&client.text("echo", json!({"text": "short"}))), "short", "short as it is");
    assert!(client.text("own", json!({})).starts_with("short xxx"), "its own are left alone");
    let mut plain = Client::start(&place, "plain");
    assert_eq!(plain.text("echo", long("short")).len(), 4_006, "by default what servers and run_code say");
    let mut off = with(&place, &[("MCP_GATEWAY_INTELLIGENCE_ENABLED", "false")]);
    assert_eq!(off.text("echo", long("short")).len(), 4_006);
    let mut set = with(&place, &[("MCP_GATEWAY_SUMMARY_THRESHOLD_BYTES", "7")]);
    assert_eq!(set.text("echo", long("whose")), "None short {\"threshold_bytes\":7}");
}

#[test]
fn whatever_goes_wrong_with_a_filter_leaves_the_reply() {
    let place = place();
    let mut client = Client::start(&place, "short");
    for how in ["fault", "trap", "loop", "huge", "error", "garbage", "leave"] {
        let text = client.text("echo", long(how));
        assert_eq!((first_word(&text), text.len()), (how, how.len() + 4_001), "{how}");
    }
    let log = client.log();
    let failed = log.matches("failed as a filter, the reply is unchanged").count();
    assert_eq!(failed, 6, "a line each, and none for what is left alone: {log}");
    assert!(log.contains("It would not."), "{log}");
    assert_eq!(client.text("echo", long("short")), "echo of echo: 4006 bytes", "the next call works");
}

#[test]
fn what_is_filtered_has_no_data_and_what_tools_get_is_whole() {
    let place = place();
    for (preset, data) in [("plain", true), ("short", false)] {
        let mut client = Client::start(&place, preset);
        let listed = client.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("tools");
        let typed = tools.iter().find(|tool| tool["name"] == "get_page_structure").expect("the tool");
        assert_eq!(typed.get("outputSchema").is_some(), data, "{preset}");
        let result = client.call("get_page_structure", json!({"page_type": "heuristic"}));
        assert_eq!(result.get("structuredContent").is_some(), data, "{preset}: {result}");
        assert!(text_of(&result).contains("Reasoning"), "{result}");
        let nested = client
            .text("data", json!({"tool": "get_page_structure", "arguments": {"page_type": "heuristic"}}));
        assert!(nested.contains("page_type"), "{nested}");
    }
}

#[test]
fn what_was_kept_is_put_into_arguments() {
    let place = place();
    let mut client = Client::start(&place, "short");
    let id = client.text("echo", long("keep"));
    assert!(id.starts_with("art-"), "{id}");
    let whole = client.text("echo", json!({"text": {"$artifact": id, "range": [1, 3]}}));
    assert_eq!(whole, "keep y\ny\ny");
    let bad = client.call("echo", json!({"text": {"$artifact": id, "pointer": "/x"}}));
    assert_eq!(fault_of(&bad)["type"], "VALIDATION", "not JSON: {bad}");
    let missing = client.call("echo", json!({"text": {"$artifact": "art-000000000000"}}));
    assert_eq!(fault_of(&missing)["type"], "MCP_ERROR", "{missing}");
    assert!(text_of(&missing).contains("artifact 'art-000000000000' not found or expired"), "{missing}");
    assert!(!client.log().contains("yyy"), "nothing of it is logged");
    drop(client);
    let mut other = Client::start(&place, "plain");
    assert_eq!(other.text("echo", json!({"text": {"$artifact": id, "range": [1, 1]}})), "keep y");
}

#[test]
fn a_gate_that_is_no_filter_is_refused() {
    let place = place();
    let ran = place.run(&["presets", "check"]);
    let output = ran.stdout() + &ran.stderr();
    assert!(output.contains("filters name gate 'echo', which does not filter replies"), "{output}");
}

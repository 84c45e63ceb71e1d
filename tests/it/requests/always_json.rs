//! The tool `request` answers with JSON, for failures in every stage of the host.

use serde_json::{Value, json};

use super::from_stdin;
use crate::support::{Client, Place, place::SHIPPED, place::repository};

fn shipped(from: &str, to: &str, more: &str) -> Place {
    let presets = std::fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    assert!(presets.contains(from), "presets.toml has no {from}");
    Place::with(&format!("{}\n{more}", presets.replacen(from, to, 1)), &SHIPPED)
}

fn answer(result: &Value) -> Value {
    let [block] = &result["content"].as_array().expect("content")[..] else { panic!("one block: {result}") };
    assert_eq!(result["isError"], true, "{result}");
    serde_json::from_str(block["text"].as_str().expect("text")).unwrap_or_else(|_| panic!("JSON: {result}"))
}

#[test]
fn faults_before_the_gate_are_json() {
    let approve =
        "[presets.asked]\nextends = [\"gateway\"]\n[presets.asked.approve]\ntools = [\"request\"]\n";
    let place = shipped("[presets.proxy]", "[presets.proxy]", approve);
    let mut client = Client::start(&place, "gateway");
    let sent = json!({"intent": "QUERY", "action": "wiki_idea_search", "params": {"query": {"$artifact": "art-none"}}});
    let response = answer(&client.call("request", sent));
    assert_eq!(
        response["request"],
        json!({"intent": "QUERY", "action": "wiki_idea_search", "effect": null}),
        "{response}"
    );
    assert!(response["error"]["message"].to_string().contains("art-none"), "{response}");

    for arguments in [json!([1, 2]), json!("QUERY"), json!(5)] {
        let reply = client.request("tools/call", json!({"name": "request", "arguments": arguments}));
        let response = answer(&reply["result"]);
        assert_eq!(response["error"]["type"], "VALIDATION", "{response}");
    }
    assert_eq!(client.close(), Some(0));

    let sent = json!({"intent": "QUERY", "action": "wiki_idea_search"}).to_string();
    let (_, response) = from_stdin(&place, &sent, &["--preset", "asked"]);
    assert_eq!(response["error"]["type"], "PERMISSION", "{response}");
    assert!(response["error"]["message"].to_string().contains("requires user approval"), "{response}");
}

#[test]
fn a_gate_out_of_memory_is_json() {
    let grants = "[gates.proxy]\ngrants = [\"servers\", \"models\", \"artifacts\", \"catalog\"]\nlimits = { time = \"5 min\", memory = \"256 MiB\" }";
    let small = grants.replace("256 MiB", "4 MiB");
    let place = shipped(grants, &small, "");
    let mut client = Client::start(&place, "gateway");
    let params = json!({"query": "x".repeat(3_000_000)});
    let response = answer(
        &client.call("request", json!({"intent": "QUERY", "action": "wiki_idea_search", "params": params})),
    );
    assert_eq!(
        (&response["ok"], &response["request"]["intent"]),
        (&json!(false), &json!("QUERY")),
        "{response}"
    );
    assert!(response["error"]["message"].to_string().contains("memory"), "{response}");
    let response = answer(&client.call("request", json!({"intent": "QUERY", "action": "nothing"})));
    assert_eq!(response["error"]["type"], "VALIDATION", "{response}");
}

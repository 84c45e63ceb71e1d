//! The gate `proxy` on a host without servers: what its tools cost, and that each says what there is not.

use serde_json::{Value, json};

use crate::support::{Client, Place, text_of};

#[test]
fn its_tools_cost_little_and_two_ask_to_be_loaded_at_once() {
    let place = Place::shipped();
    let costs = place.run(&["presets", "cost", "--json"]).json();
    let cost = costs.as_array().expect("presets").iter().find(|one| one["preset"] == "proxy");
    let tokens = cost.and_then(|one| one["tokens"].as_u64()).unwrap_or_else(|| panic!("{costs}"));
    assert!(tokens < 1_150, "{tokens}");
    let mut client = Client::start(&place, "proxy");
    let listed = client.request("tools/list", json!({}));
    let with_meta: Vec<(&Value, &Value)> = listed["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| Some((&tool["name"], tool.get("_meta")?)))
        .filter(|(_, meta)| meta.get("anthropic/alwaysLoad").is_some())
        .collect();
    let at_once = json!({"anthropic/alwaysLoad": true});
    assert_eq!(with_meta, [(&json!("call_tool"), &at_once), (&json!("search_tools"), &at_once)]);
}

#[test]
fn without_servers_every_tool_says_so() {
    let place = Place::shipped();
    let mut client = Client::start(&place, "proxy");
    assert_eq!(client.text("list_mcp_servers", json!({})), "There are no servers.");
    let found = client.text("search_tools", json!({"query": "read a file"}));
    assert!(found.starts_with("No tool fits."), "{found}");
    let call = json!({"server": "git", "tool": "status"});
    let failed = client.call("call_tool", call);
    assert_eq!(failed["isError"], true, "{failed}");
    let told: Value = serde_json::from_str(&text_of(&failed)).expect("JSON");
    assert_eq!((&told["success"], &told["error_code"]), (&json!(false), &json!("SERVER_NOT_FOUND")));
    assert_eq!(told["hint"], "list_mcp_servers says which servers there are.");
    let listed = client.fails("list_tools", json!({"server": "git"}));
    assert!(listed.contains("There is no server 'git'."), "{listed}");
}

#[test]
fn without_the_grant_it_reaches_no_server() {
    let presets = "[presets.bare]\ngates.proxy = {}\n";
    let place = Place::with(presets, &["proxy"]);
    let mut client = Client::start(&place, "bare");
    let denied = client.fails("list_mcp_servers", json!({}));
    assert!(denied.contains("servers") && denied.contains("[gates.proxy]"), "{denied}");
}

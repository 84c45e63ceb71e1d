//! The gate `proxy`: the size of its tools, answers without servers, and search results.

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
    assert!(found.starts_with("Nothing fits."), "{found}");
    let call = json!({"server": "git", "tool": "status"});
    let failed = client.call("call_tool", call);
    assert_eq!(failed["isError"], true, "{failed}");
    let error: Value = serde_json::from_str(&text_of(&failed)).expect("JSON");
    assert_eq!((&error["success"], &error["error_code"]), (&json!(false), &json!("SERVER_NOT_FOUND")));
    assert_eq!(error["hint"], "list_mcp_servers lists the servers.");
    let listed = client.fails("list_tools", json!({"server": "git"}));
    assert!(listed.contains("unknown server 'git'."), "{listed}");
}

#[test]
fn without_the_grant_it_reaches_no_server() {
    let presets = "[presets.bare]\ngates.proxy = {}\n";
    let place = Place::with(presets, &["proxy"]);
    let mut client = Client::start(&place, "bare");
    let denied = client.fails("list_mcp_servers", json!({}));
    assert!(denied.contains("servers") && denied.contains("[gates.proxy]"), "{denied}");
}

/// `alpha` lists the same tools as `zeta`, which is configured first. By name alone the copy would come first.
#[test]
fn a_copy_of_a_servers_tools_is_shown_with_the_original_and_after_it() {
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let block = |name: &str| format!("[servers.{name}]\ncommand = {server:?}\nargs = [\"stdio\"]\n");
    let presets = |first: &str, then: &str| {
        format!(
            "{}{}[gates.proxy]\ngrants = [\"servers\"]\n[presets.p]\ngates.proxy = {{}}\n",
            block(first),
            block(then)
        )
    };
    let place = Place::with(&presets("zeta", "alpha"), &["proxy"]);
    for server in ["zeta", "alpha"] {
        assert_eq!(place.run(&["servers", "refresh", server]).code(), 0);
    }
    let mut client = Client::start(&place, "p");
    let found = client.text("search_tools", json!({"query": "say what it is told", "top_k": 4}));
    let first = found.lines().nth(1).expect("a line");
    assert!(first.starts_with("zeta: echo(") && first.ends_with(" [same on alpha: echo]"), "{found}");
    let recommended = client.text("recommend_tools", json!({"task_description": "say what it is told"}));
    assert!(
        recommended.starts_with("Fits:\nzeta: echo(") && recommended.contains("alpha: echo]"),
        "{recommended}"
    );
    let broken = json!({"server": "zeta", "tool": "fails"});
    (0..3).for_each(|_| drop(client.call("call_tool", broken.clone())));
    let found = client.text("search_tools", json!({"query": "fails"}));
    assert!(found.starts_with("Fits:\nalpha: fails(") && found.contains(" [same on zeta: fails]"), "{found}");
}

/// A call cannot be undone, so an expensive filter must not lose its result.
#[test]
fn a_filter_that_takes_too_much_loses_nothing_of_a_tool_that_has_run() {
    let server = env!("CARGO_BIN_EXE_server-of-vices");
    let presets = format!(
        "[servers.s]\ncommand = {server:?}\nargs = [\"stdio\"]\n[gates.proxy]\ngrants = [\"servers\"]\n\
         limits = {{ time = \"2 s\" }}\n[presets.p]\ngates.proxy = {{}}\n"
    );
    let place = Place::with(&presets, &["proxy"]);
    let mut client = Client::start(&place, "p");
    for filter in ["[range(1e12)]", "def f: [f]; f", "[limit(1e12; repeat(1))]", "last(range(1e15))"] {
        let arguments = json!({"text": "[\"it ran\"]"});
        let call = json!({"server": "s", "tool": "echo", "arguments": arguments, "select": filter});
        let reply = client.call("call_tool", call);
        let text = reply["content"].to_string();
        assert!(reply["isError"] != true && text.contains("it ran"), "{filter}: {reply}");
        assert!(text.contains("this is its whole reply: 'call_tool' failed"), "{filter}: {reply}");
    }
    let deep =
        json!({"server": "s", "tool": "echo", "arguments": {"text": "x"}, "select": "(".repeat(20_000)});
    assert!(client.fails("call_tool", deep).contains("nested deeper than 256 levels"));
}

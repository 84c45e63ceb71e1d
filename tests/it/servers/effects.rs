//! Effects of tools whose server says nothing about them.

use serde_json::{Value, json};

use super::{child, showing};
use crate::support::Place;

/// Lists these tools of a server without hints, and returns its block.
fn listing(place: &Place, tools: &[(&str, &str)]) -> String {
    let tool = |(name, says): &(&str, &str)| json!({"name": name, "description": says, "inputSchema": {"type": "object"}, "reply": {}});
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    let file = place.write("tools.json", Value::from(tools).to_string());
    child("s", &[&format!("tools={}", file.display())], "")
}

fn refresh(place: &Place) {
    assert_eq!(place.run(&["servers", "refresh"]).code(), 0);
}

/// Whether the host treats a tool as read-only.
fn is_read_only(place: &Place, tool: &str) -> bool {
    let tools = place.run(&["presets", "show", "all", "--json"]).json()["tools"].clone();
    let of_name = tools.as_array().expect("a list").iter().find(|one| one["name"] == *tool);
    of_name.unwrap_or_else(|| panic!("no {tool}: {tools}"))["effect"] == "read-only"
}

#[test]
fn a_declared_effect_counts_until_the_tool_changes() {
    let place = showing(&["s"], "");
    let presets = |says: &str| {
        let tools = [("find_note", says), ("list_tags", "Lists tags."), ("sync", "Synchronizes.")];
        let block = listing(&place, &tools);
        place.write("presets.toml", format!("{block}[presets.all]\nservers = [\"s\"]\n"));
    };
    presets("Finds notes.");
    refresh(&place);
    assert!(!is_read_only(&place, "s__find_note"));
    let status = place.run(&["status"]).stdout();
    assert!(status.contains("effects    unknown for ") && status.contains("tools of s"), "{status}");
    let shown = place.run(&["servers", "review", "s"]).stdout();
    let command = "gatehouse servers review s --effect 'find_note,list_tags=read-only'";
    assert!(shown.contains("\"Synchronizes.\"") && shown.contains(command), "{shown}");
    let wrong = place.run(&["servers", "review", "s", "--effect", "fnd_note=read-only"]);
    assert_eq!(wrong.code(), 2);
    assert!(wrong.stderr().contains("matches. Did you mean 'find_note'?"), "{}", wrong.stderr());
    let wrong = place.run(&["servers", "review", "s", "--effect", "find_note=readonly"]);
    assert!(wrong.stderr().contains("unknown effect `readonly`: expected one of"), "{}", wrong.stderr());
    let declared = place.run(&["servers", "review", "s", "--effect", "find_*=read-only"]);
    assert_eq!(declared.code(), 0, "{}", declared.stderr());
    assert!(declared.stderr().contains("read-only, until their definitions change: find_note"));
    assert!(is_read_only(&place, "s__find_note") && !is_read_only(&place, "s__list_tags"));
    presets("Finds notes and mails them.");
    refresh(&place);
    assert!(!is_read_only(&place, "s__find_note"), "another definition");
    let shown = place.run(&["servers", "review", "s"]).stdout();
    assert!(shown.contains("You declared it read-only before its definition changed."), "{shown}");
    presets("Finds notes.");
    refresh(&place);
    assert!(is_read_only(&place, "s__find_note"), "the definition that was declared");
    // A tool that is new needs a decision of its own, although a pattern would match it.
    let block = listing(&place, &[("find_note", "Finds notes."), ("find_all", "Finds all.")]);
    place.write("presets.toml", format!("{block}[presets.all]\nservers = [\"s\"]\n"));
    refresh(&place);
    assert!(is_read_only(&place, "s__find_note") && !is_read_only(&place, "s__find_all"));
}

#[test]
fn added_servers_have_effects_and_rules_of_presets_toml() {
    let place = Place::with("", &[]);
    std::fs::remove_file(place.path("presets.toml")).expect("no file of its own");
    let tools = json!([{"name": "find_note", "description": "Finds.", "inputSchema": {"type": "object"}, "reply": {}}]);
    let file = place.write("tools.json", tools.to_string());
    let option = format!("tools={}", file.display());
    let add = ["servers", "add", "s", "--effect", "find_*=mutating", "--", super::vices(), "stdio", &option];
    let added = place.run(&add);
    assert_eq!(added.code(), 0, "{}", added.stderr());
    assert!(
        added.stderr().contains("mutating, until their definitions change: find_note"),
        "{}",
        added.stderr()
    );
    let rules = "[servers.s.tools.find_note]\neffect = \"read-only\"\n\n[servers.other.tools.x]\neffect = \"mutating\"\n";
    let state = place.run(&["status", "--json"]).json()["state"].as_str().expect("a folder").to_owned();
    place.write(
        "presets.toml",
        format!("[host]\nstate = {state:?}\n{rules}[presets.all]\nproxied = [\"*\"]\n"),
    );
    let listed = place.run(&["servers", "list"]);
    let problem = "[servers.other.tools] is not used: the block has no `command` or `url`";
    assert!(listed.stderr().contains(problem), "{}", listed.stderr());
}

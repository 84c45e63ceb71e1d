//! Tool names of a preset: `deny`, aliases and collisions.

use std::fs;

use serde_json::json;

use super::{refused, refuses, says, served, serves};
use crate::support::Place;

#[test]
fn hidden_tool_is_unknown() {
    let (_place, mut client) =
        serves("[presets.full]\ngates.kg = {}\ndeny = [\"kg_*\", \"get_page_?tructure\"]\n");
    assert_eq!(client.tools(), ["get_wiki_page", "search_knowledge"]);
    for hidden in ["kg_edit", "kg_index", "get_page_structure", "no_such_tool"] {
        let error = client.call(hidden, json!({"nonsense": true}));
        let message = error["message"].as_str().unwrap_or_else(|| panic!("{hidden}: {error}"));
        says(message, &[&format!("Unknown tool: '{hidden}'.")]);
        assert!(!message.contains("nonsense") && error.get("isError").is_none(), "{hidden}: {error}");
    }
    assert_eq!(client.call("get_page_structur", json!({}))["code"], client.call("zzz", json!({}))["code"]);
}

#[test]
fn a_deny_entry_that_is_no_glob_is_named() {
    says(
        &refuses("[presets.full]\ngates.kg = {}\ndeny = [\"kg_[\"]\n"),
        &["preset 'full'", "'kg_['", "not a valid glob"],
    );
}

#[test]
fn an_alias_is_a_further_name() {
    let presets =
        "[presets.full]\ngates.kg = {}\ndeny = [\"kg_*\"]\naliases = { shape = \"get_page_structure\" }\n";
    let (_place, mut client) = serves(presets);
    assert_eq!(client.tools(), ["get_page_structure", "get_wiki_page", "search_knowledge", "shape"]);
    let arguments = json!({"page_type": "heuristic"});
    assert_eq!(client.text("shape", arguments.clone()), client.text("get_page_structure", arguments));
}

#[test]
fn an_alias_for_nothing_ends_the_start() {
    let line = refuses("[presets.full]\ngates.kg = {}\naliases = { ask = \"serch_knowledge\" }\n");
    says(&line, &["preset 'full'", "alias 'ask'", "'serch_knowledge'", "Did you mean 'search_knowledge'?"]);
    let line = refuses("[presets.full]\ngates.kg = {}\naliases = { \"a b\" = \"search_knowledge\" }\n");
    says(&line, &["preset 'full'", "alias 'a b'"]);
}

#[test]
fn an_alias_that_is_taken_is_called_an_alias() {
    let line = refuses("[presets.full]\ngates.kg = {}\naliases = { kg_edit = \"search_knowledge\" }\n");
    says(&line, &["preset 'full'", "alias 'kg_edit'"]);
}

#[test]
fn a_collision_ends_the_start_and_names_both_gates() {
    let place = Place::with("[presets.full]\ngates.kg = {}\ngates.custom = {}\n", &["kg"]);
    fs::copy(place.path("gates/kg.wasm"), place.path("gates/custom.wasm")).expect("copy");
    let line = refused(&place, &[], &[]);
    says(&line, &["tool name collision: 'get_page_structure' in both 'kg' and 'custom' gates"]);
    let line = refused(&place, &[], &[("MCP_ENABLED_GATES", "custom,kg")]);
    says(&line, &["tool name collision: 'get_page_structure' in both 'custom' and 'kg' gates"]);
}

#[test]
fn what_a_collision_says_to_write_keeps_both_tools() {
    let presets = "[gates.kg]\ngrants = [\"knowledge\"]\n[presets.full]\ngates.kg = {}\ngates.custom = {}\n";
    let place = Place::with(presets, &["kg"]);
    fs::copy(place.path("gates/kg.wasm"), place.path("gates/custom.wasm")).expect("copy");
    let line = refused(&place, &[], &[]);
    let (_, mend) = line.split_once("add under [presets.full]: ").expect("what to add");
    let (deny, rest) = mend.split_once(" and ").expect("two lines");
    let (aliases, _) = rest.split_once("; or leave one of the gates out.").expect("the other way");
    assert_eq!(deny, "deny = [\"get_page_structure\"]");
    assert_eq!(
        aliases,
        "aliases = { \"kg_get_page_structure\" = \"kg.get_page_structure\", \
         \"custom_get_page_structure\" = \"custom.get_page_structure\" }"
    );
    let others = deny.replace(']', ", \"kg_edit\", \"kg_index\", \"search_knowledge\", \"get_wiki_page\"]");
    place.write("presets.toml", format!("{presets}{others}\n{aliases}\n"));
    let mut client = served(&place, &[], &[]);
    assert_eq!(client.tools(), ["custom_get_page_structure", "kg_get_page_structure"]);
    let line = refused(&place, &[], &[("MCP_ENABLED_GATES", "custom,kg")]);
    says(&line, &["add in a preset that names these gates: deny = [\"get_page_structure\"]"]);
}

#[test]
fn an_alias_stands_for_the_tool_of_the_gate_that_it_names() {
    let gates = "[gates.reader]\ncomponent = \"gates/kg.wasm\"\ngrants = [\"knowledge:read\"]\n\
                 [gates.stranger]\ncomponent = \"gates/kg.wasm\"\n[presets.full]\n\
                 gates.stranger = {}\ngates.reader = {}\ndeny = [\"kg_*\", \"get_*\", \"search_*\"]\n";
    let aliases = "aliases = { ask = \"reader.search_knowledge\", other = \"stranger.search_knowledge\" }\n";
    let (place, mut client) = serves(&format!("{gates}{aliases}"));
    assert_eq!(client.tools(), ["ask", "other"]);
    client.text("ask", json!({"query": "retries"}));
    says(&client.fails("other", json!({"query": "retries"})), &["gate 'stranger' has no grant"]);

    place.write("presets.toml", format!("{gates}aliases = {{ ask = \"search_knowledge\" }}\n"));
    says(
        &refused(&place, &[], &[]),
        &["preset 'full': alias 'ask' refers to 'search_knowledge', which 2 gates of the preset have; \
             write \"stranger.search_knowledge\" or \"reader.search_knowledge\""],
    );
    place.write("presets.toml", format!("{gates}aliases = {{ ask = \"raeder.search_knowledge\" }}\n"));
    says(
        &refused(&place, &[], &[]),
        &["no gate of the preset has", "Did you mean 'reader.search_knowledge'?"],
    );
}

#[test]
fn tools_that_are_denied_do_not_collide() {
    let presets = "[presets.full]\ngates.idea = {}\ngates.custom = {}\ngates.kg = {}\ndeny = [\"wiki_*\"]\n";
    let place = Place::with(presets, &["idea", "kg"]);
    fs::copy(place.path("gates/idea.wasm"), place.path("gates/custom.wasm")).expect("copy");
    assert_eq!(served(&place, &[], &[]).tools().len(), 5);
}

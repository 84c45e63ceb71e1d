//! What a preset exposes, and under which name: deny, aliases, collisions.

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
    says(&line, &["Tool name collision: 'get_page_structure' in both 'kg' and 'custom' gates"]);
    let line = refused(&place, &[], &[("MCP_ENABLED_GATES", "custom,kg")]);
    says(&line, &["Tool name collision: 'get_page_structure' in both 'custom' and 'kg' gates"]);
}

#[test]
fn tools_that_are_denied_do_not_collide() {
    let presets = "[presets.full]\ngates.idea = {}\ngates.custom = {}\ngates.kg = {}\ndeny = [\"wiki_*\"]\n";
    let place = Place::with(presets, &["idea", "kg"]);
    fs::copy(place.path("gates/idea.wasm"), place.path("gates/custom.wasm")).expect("copy");
    assert_eq!(served(&place, &[], &[]).tools().len(), 5);
}

//! `gatehouse explain`: why a tool is, or is not, exposed.

use super::run;
use crate::support::Place;

const PRESETS: &str = "[presets.full]\ngates.kg = { include_content = false }\ndeny = [\"kg_*\"]\n\
                       aliases = { ask = \"search_knowledge\" }\n[presets.ideas]\ngates.idea = {}\n";

/// What it says about a tool under preset `full`, once for people and once for machines.
fn explain(tool: &str) -> (bool, String) {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    let told = run(&place, 0, &["explain", tool, "--preset", "full", "--json"]).json();
    let why = told["why"].as_str().expect("a reason").to_owned();
    let exposed = told["exposed"].as_bool().expect("an answer");
    let text = run(&place, 0, &["explain", tool, "--preset", "full"]).stdout();
    assert_eq!(text, format!("{}: {why}\n", if exposed { "exposed" } else { "not exposed" }));
    (exposed, why)
}

#[test]
fn an_exposed_tool_is_told_with_its_gate_and_parameters() {
    let (exposed, why) = explain("search_knowledge");
    assert!(exposed && why.contains("'kg'") && why.contains("\"include_content\":false"), "{why}");
}

#[test]
fn an_alias_is_told_with_what_it_stands_for() {
    let (exposed, why) = explain("ask");
    assert!(exposed && why.contains("alias of 'search_knowledge'"), "{why}");
}

#[test]
fn a_denied_tool_is_told_with_the_glob_that_denies_it() {
    let (exposed, why) = explain("kg_edit");
    assert!(!exposed && why.contains("'kg'") && why.contains("denies 'kg_edit' by \"kg_*\""), "{why}");
}

#[test]
fn a_denied_alias_is_told_with_the_glob_that_denies_it() {
    let presets =
        "[presets.full]\ngates.idea = {}\naliases = { think = \"wiki_idea_search\" }\ndeny = [\"thin?\"]\n";
    let told = run(&Place::with(presets, &["idea"]), 0, &["explain", "think", "--json"]).json();
    let why = told["why"].as_str().expect("a reason");
    assert!(told["exposed"] == false && why.contains("denies 'think' by \"thin?\""), "{why}");
}

#[test]
fn a_tool_of_another_preset_is_told_with_that_preset() {
    let (exposed, why) = explain("wiki_idea_search");
    assert!(!exposed && why.ends_with("presets that expose it: ideas"), "{why}");
}

#[test]
fn an_unknown_tool_is_told_with_the_nearest() {
    let (exposed, why) = explain("serch_knowledge");
    assert!(!exposed && why.ends_with("Did you mean 'search_knowledge'?"), "{why}");
}

#[test]
fn without_a_preset_it_asks_about_the_one_that_serve_would_choose() {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    assert_eq!(run(&place, 0, &["explain", "ask", "--json"]).json()["preset"], "full");
    let mut command = place.command(&["explain", "ask", "--json"]);
    let output = command.env("MCP_PRESET", "ideas").output().expect("run gatehouse");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&told["preset"], &told["exposed"]), (&"ideas".into(), &false.into()));
}

#[test]
fn an_unknown_preset_is_wrong_usage() {
    let place = Place::with(PRESETS, &["kg", "idea"]);
    let said = run(&place, 2, &["explain", "ask", "--preset", "idea"]).stderr();
    assert!(said.contains("--preset: Unknown preset 'idea'. Did you mean 'ideas'?"), "{said}");
}

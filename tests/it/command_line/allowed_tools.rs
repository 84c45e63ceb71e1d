//! `gatehouse allowed-tools`: entries for an agent's allow list.

use serde_json::json;

use super::run;
use crate::support::Place;

#[test]
fn tools_stand_in_gate_order_after_the_base_tools() {
    let expected = json!([
        "Read",
        "Write",
        "Bash",
        "mcp__gatehouse__search_knowledge",
        "mcp__gatehouse__get_wiki_page",
        "mcp__gatehouse__kg_index",
        "mcp__gatehouse__kg_edit",
        "mcp__gatehouse__get_page_structure",
        "mcp__gatehouse__wiki_idea_search",
        "mcp__gatehouse__wiki_code_search",
        "mcp__gatehouse__research_idea",
        "mcp__gatehouse__research_implementation",
        "mcp__gatehouse__research_study",
        "mcp__gatehouse__list_repositories_with_navigation",
        "mcp__gatehouse__mfai_document_retrieval",
        "mcp__gatehouse__read_repository_file",
    ]);
    assert_eq!(run(&Place::shipped(), 0, &["allowed-tools", "full", "--base"]).json(), expected);
}

#[test]
fn the_server_goes_by_the_name_its_client_gives_it() {
    let place = Place::shipped();
    let tools = run(&place, 0, &["allowed-tools", "context", "--server", "wiki"]).json();
    assert_eq!(tools, json!(["mcp__wiki__wiki_idea_search", "mcp__wiki__wiki_code_search"]));
}

#[test]
fn it_works_for_every_preset() {
    let place = Place::shipped();
    for (preset, tools) in [
        ("merger", 5),
        ("ideation", 4),
        ("implementation", 4),
        ("context", 2),
        ("documents", 3),
        ("proxy", 11),
        ("full", 13),
    ] {
        let listed = run(&place, 0, &["allowed-tools", preset]).json();
        assert_eq!(listed.as_array().map(Vec::len), Some(tools), "{preset}: {listed}");
    }
}

#[test]
fn denied_tools_are_left_out_and_aliases_come_last() {
    let presets = "[presets.full]\ngates.kg = {}\ngates.idea = {}\ndeny = [\"kg_*\", \"get_*\"]\n\
                   aliases = { ask = \"search_knowledge\" }\n";
    let place = Place::with(presets, &["kg", "idea"]);
    let tools = run(&place, 0, &["allowed-tools", "full", "--server", "s"]).json();
    assert_eq!(tools, json!(["mcp__s__search_knowledge", "mcp__s__wiki_idea_search", "mcp__s__ask"]));
}

#[test]
fn an_unknown_preset_names_the_nearest() {
    let ran = run(&Place::shipped(), 2, &["allowed-tools", "idation"]);
    assert!(ran.stderr().contains("unknown preset 'idation'. Did you mean 'ideation'?"), "{}", ran.stderr());
    assert_eq!(ran.stdout(), "");
}

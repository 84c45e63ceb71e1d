//! Gates in presets: unknown names, parameters checked by the gate's schema, and `extends`.

use serde_json::json;

use super::{refuses, says, serves};
use crate::support::Place;

#[test]
fn an_unknown_gate_is_reported_with_the_nearest() {
    let line = refuses("[presets.full]\ngates.ideas = {}\n");
    says(
        &line,
        &[
            "preset 'full'",
            "unknown gate 'ideas'",
            "Did you mean 'idea'?",
            "There are: code, converter, document-retrieval, idea, kg, proxy, research, script, summarizer.",
        ],
    );
}

#[test]
fn an_unknown_parameter_is_reported_with_the_nearest() {
    let line = refuses("[presets.full]\ngates.idea = { topk = 3 }\n");
    says(&line, &["preset 'full': gate 'idea': unknown parameter 'topk'", "Did you mean 'top_k'?"]);
    let line = refuses("[presets.full]\ngates.kg = { top_k = 3 }\n");
    says(&line, &["preset 'full': gate 'kg': unknown parameter 'top_k'"]);
}

#[test]
fn a_parameter_of_the_wrong_type_is_reported_in_the_hosts_words() {
    let cases = [
        ("idea = { top_k = \"ten\" }", "gate 'idea': 'top_k' must be an integer, got a string."),
        ("idea = { top_k = 0 }", "gate 'idea': 'top_k' must be at least 1, got 0."),
        (
            "idea = { use_llm_reranker = 1 }",
            "gate 'idea': 'use_llm_reranker' must be a boolean, got a number.",
        ),
        (
            "kg = { include_content = \"yes\" }",
            "gate 'kg': 'include_content' must be a boolean, got a string.",
        ),
    ];
    for (gate, expected) in cases {
        says(&refuses(&format!("[presets.full]\ngates.{gate}\n")), &["preset 'full': ", expected]);
    }
}

#[test]
fn parameters_reach_the_tools_description_and_defaults() {
    let (_place, mut client) = serves("[presets.full]\ngates.idea = { top_k = 13 }\n");
    let listed = client.request("tools/list", json!({}));
    let tool = &listed["result"]["tools"][0];
    assert_eq!(tool["inputSchema"]["properties"]["top_k"]["default"], 13, "{tool}");
    assert!(tool["description"].as_str().is_some_and(|text| text.contains("13")), "{tool}");
}

fn shown(presets: &str, preset: &str) -> serde_json::Value {
    let place = Place::with(presets, &["kg", "idea", "code"]);
    place.run(&["presets", "show", preset, "--json"]).json()
}

#[test]
fn presets_are_composed_left_to_right_and_their_own_lines_last() {
    let presets = "
        [presets.full]
        extends = [\"left\", \"right\"]
        gates.idea = { include_content = false }
        [presets.left]
        description = \"not inherited\"
        gates.code = {}
        gates.idea = { top_k = 3, use_llm_reranker = false, include_content = true }
        [presets.right]
        gates.idea = { top_k = 4 }
        gates.kg = {}
        deny = [\"kg_*\"]
        aliases = { ask = \"search_knowledge\" }";
    let resolved_preset = shown(presets, "full");
    let idea = json!({"top_k": 4, "use_llm_reranker": false, "include_content": false});
    assert_eq!(resolved_preset["gates"], json!({"code": {}, "idea": idea, "kg": {}}));
    assert_eq!(resolved_preset["description"], json!(null));
    let tools = resolved_preset["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].as_str().expect("a name"));
    let expected = [
        "wiki_code_search",
        "wiki_idea_search",
        "search_knowledge",
        "get_wiki_page",
        "get_page_structure",
        "ask",
    ];
    assert_eq!(tools.collect::<Vec<_>>(), expected);
}

#[test]
fn a_base_may_be_reached_twice() {
    let presets = "
        [presets.full]
        extends = [\"left\", \"right\"]
        [presets.left]
        extends = [\"base\"]
        [presets.right]
        extends = [\"base\"]
        [presets.base]
        gates.idea = {}";
    assert_eq!(shown(presets, "full")["gates"], json!({"idea": {}}));
}

#[test]
fn a_circle_of_presets_is_printed() {
    let presets = "[presets.full]\nextends = [\"a\"]\n[presets.a]\nextends = [\"b\"]\n[presets.b]\nextends = [\"full\"]\n";
    let line = refuses(presets);
    says(&line, &["presets.toml", "cycle", " -> "]);
    let circles = ["a -> b -> full -> a", "b -> full -> a -> b", "full -> a -> b -> full"];
    assert!(circles.iter().any(|circle| line.contains(circle)), "{line}");
    says(&refuses("[presets.full]\nextends = [\"full\"]\n"), &["full -> full"]);
}

#[test]
fn a_base_that_does_not_exist_is_reported_with_the_nearest() {
    let line = refuses("[presets.full]\nextends = [\"ideaton\"]\n[presets.ideation]\ngates.idea = {}\n");
    says(
        &line,
        &[
            "preset 'full' extends 'ideaton'",
            "Did you mean 'ideation'?",
            "There are: code, context, documents, full, gateway, ideation, implementation, merger, proxy.",
        ],
    );
}

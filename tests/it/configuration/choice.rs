//! Choice of the preset: `--preset`, `MCP_PRESET`, `MCP_ENABLED_GATES`, `default_preset`. HTTP serves all presets.

use serde_json::json;

use super::{refused, says, served};
use crate::support::{Http, Place};

const ALL_PRESETS: &str =
    "There are: code, context, documents, full, gateway, ideation, implementation, merger, proxy.";

#[test]
fn the_documented_order_decides() {
    let place = Place::shipped();
    let both = [("MCP_PRESET", "ideation"), ("MCP_ENABLED_GATES", "kg")];
    let research = ["research_idea", "research_implementation", "research_study"];
    let with = |tool: &'static str| [&research[..], &[tool]].concat();
    assert_eq!(served(&place, &["--preset", "implementation"], &both).tools(), with("wiki_code_search"));
    assert_eq!(served(&place, &[], &both).tools(), with("wiki_idea_search"));
    assert_eq!(served(&place, &[], &both[1..]).tools().len(), 5);
    assert_eq!(served(&place, &[], &[]).tools().len(), 13);
}

#[test]
fn the_default_preset_is_the_files_choice() {
    let place =
        Place::with("[host]\ndefault_preset = \"ideas\"\n[presets.ideas]\ngates.idea = {}\n", &["idea"]);
    assert_eq!(served(&place, &[], &[]).tools(), ["wiki_idea_search"]);
}

#[test]
fn an_empty_variable_is_not_set() {
    let place = Place::shipped();
    assert_eq!(served(&place, &[], &[("MCP_PRESET", ""), ("MCP_ENABLED_GATES", "")]).tools().len(), 13);
}

#[test]
fn an_unknown_preset_ends_the_start() {
    let place = Place::shipped();
    let line = refused(&place, &["--preset", "ideaton"], &[]);
    says(&line, &["--preset: unknown preset 'ideaton'. Did you mean 'ideation'?", ALL_PRESETS]);
    let line = refused(&place, &[], &[("MCP_PRESET", "fulll"), ("MCP_ENABLED_GATES", "kg")]);
    says(&line, &["MCP_PRESET: unknown preset 'fulll'. Did you mean 'full'?", ALL_PRESETS]);
    let line = refused(&place, &["--preset", "zzz"], &[]);
    assert_eq!(line, format!("--preset: unknown preset 'zzz'. {ALL_PRESETS}"));
}

#[test]
fn enabled_gates_are_served_and_no_others() {
    let place = Place::shipped();
    assert_eq!(served(&place, &[], &[("MCP_ENABLED_GATES", "idea")]).tools(), ["wiki_idea_search"]);
    let tools = served(&place, &[], &[("MCP_ENABLED_GATES", " code , idea,")]).tools();
    assert_eq!(tools, ["wiki_code_search", "wiki_idea_search"]);
}

#[test]
fn a_gate_that_is_enabled_twice_is_served_once() {
    let place = Place::shipped();
    assert_eq!(served(&place, &[], &[("MCP_ENABLED_GATES", "idea,idea")]).tools(), ["wiki_idea_search"]);
}

#[test]
fn an_unknown_enabled_gate_ends_the_start() {
    let place = Place::shipped();
    let line = refused(&place, &[], &[("MCP_ENABLED_GATES", "idea,cod")]);
    says(
        &line,
        &[
            "unknown gate 'cod'",
            "Did you mean 'code'?",
            "There are: code, converter, document-retrieval, idea, kg, proxy, research, script, summarizer.",
        ],
    );
    let line = refused(&place, &[], &[("MCP_ENABLED_GATES", " , ")]);
    says(&line, &["MCP_ENABLED_GATES: names no gate"]);
    let line = refused(&place, &[], &[("MCP_ENABLED_GATES", "../gates/idea")]);
    says(&line, &["MCP_ENABLED_GATES: '../gates/idea' cannot be the name of a gate"]);
}

#[test]
fn without_any_gate_the_line_that_brings_the_shipped_ones_is_named() {
    let place = Place::with("[host]\ngates = [\"gates\"]\n[presets.full]\ngates.kg = {}\n", &[]);
    says(
        &refused(&place, &[], &[]),
        &["preset 'full'", "unknown gate 'kg'", "gates = [\"gates\", \"built-in\"] under [host]"],
    );
}

#[test]
fn over_http_a_broken_preset_says_why_and_the_others_serve() {
    let presets = "[presets.full]\ngates.idea = {}\n[presets.broken]\ngates.weather = {}\n";
    let place = Place::with(presets, &["idea"]);
    let host = Http::start(&place, "full", &[]);
    for path in ["/mcp", "/mcp/p/full"] {
        let session = host.session(path, &[]);
        let listed = host.request(path, &session, "tools/list", json!({}));
        assert_eq!(listed["result"]["tools"][0]["name"], "wiki_idea_search", "{path}: {listed}");
    }
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let (status, _, body) = host.post("/mcp/p/broken", &ping, &[]);
    assert_eq!(status, 503, "{body}");
    says(&body, &["cannot serve preset 'broken'", "unknown gate 'weather'"]);
    let (status, _, body) = host.post("/mcp/p/brokn", &ping, &[]);
    assert_eq!(status, 404, "{body}");
    says(&body, &["unknown preset 'brokn'. Did you mean 'broken'? There are: broken, full."]);
}

#[test]
fn over_http_the_chosen_preset_must_work() {
    let place =
        Place::with("[presets.full]\ngates.idea = {}\n[presets.broken]\ngates.weather = {}\n", &["idea"]);
    let mut command = place.command(&["serve", "--preset", "broken", "--http", "127.0.0.1:0"]);
    let output = command.output().expect("run gatehouse");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    says(&stderr, &["preset 'broken'", "unknown gate 'weather'"]);
    assert!(!stderr.contains("http://"), "it never listened: {stderr}");
}

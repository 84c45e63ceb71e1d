//! A user's `presets.toml` on top of the shipped presets: it can extend and choose them, and otherwise serves only its
//! own.

use serde_json::{Value, json};

use super::{refused, says, served};
use crate::support::{Place, http::Http, place::built};

fn presets(place: &Place) -> Vec<String> {
    let report = place.run(&["presets", "check", "--json"]).json();
    report.as_array().expect("presets").iter().map(|preset| preset["preset"].clone()).map(text).collect()
}

fn text(value: Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn granted(place: &Place, gate: &str) -> Value {
    let gates = place.run(&["gates", "list", "--json"]).json();
    let found = gates.as_array().expect("gates").iter().find(|one| one["name"] == gate);
    found.unwrap_or_else(|| panic!("no gate {gate}: {gates}"))["granted"].clone()
}

#[test]
fn a_file_that_names_no_shipped_preset_serves_its_own_presets_tools_and_grants() {
    let file = "[host]\ngates = [\"gates\", \"built-in\"]\ndefault_preset = \"reader\"\n\
        [gates.idea]\ngrants = [\"knowledge:read\"]\n\
        [presets.reader]\ngates.kg = { include_content = false }\ndeny = [\"kg_*\"]\n\
        [presets.full]\ngates.idea = {}\n";
    let place = Place::with(file, &[]);
    assert_eq!(presets(&place), ["full", "reader"]);
    let reader = ["get_page_structure", "get_wiki_page", "search_knowledge"];
    let mut tools = served(&place, &[], &[]).tools();
    tools.sort();
    assert_eq!(tools, reader);
    assert_eq!(served(&place, &["--preset", "full"], &[]).tools(), ["wiki_idea_search"]);
    // Grants of the shipped file do not apply to gates of this file.
    assert_eq!(granted(&place, "kg"), json!([]));
    assert_eq!(granted(&place, "idea"), json!(["knowledge:read"]));
    let called = place.run(&["call", "search_knowledge", "{\"query\": \"x\"}"]);
    says(&format!("{}{}", called.stdout(), called.stderr()), &["[gates.kg]", "grants"]);
    let host = Http::start(&place, "reader", &[]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let (status, _, body) = host.post("/mcp/p/proxy", &ping, &[]);
    assert_eq!(status, 404, "{body}");
    says(&body, &["There are: full, reader."]);
}

#[test]
fn a_shipped_preset_is_extended_by_its_name_with_its_gates_and_their_grants() {
    let place = Place::with("[presets.work]\nextends = [\"proxy\"]\n[presets.work.gates.kg]\n", &[]);
    assert_eq!(presets(&place), ["work"]);
    let tools = served(&place, &["--preset", "work"], &[]).tools();
    assert!(tools.iter().any(|tool| tool == "search_tools"), "{tools:?}");
    assert!(tools.iter().any(|tool| tool == "search_knowledge"), "{tools:?}");
    assert_eq!(granted(&place, "proxy"), json!(["catalog", "models", "artifacts", "servers"]));
    assert_eq!(granted(&place, "kg"), json!(["knowledge"]));
    // `--preset` can choose a shipped preset that the file does not extend, but HTTP does not serve it by name.
    assert_eq!(served(&place, &["--preset", "merger"], &[]).tools().len(), 5);
    let host = Http::start(&place, "work", &[]);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let (status, _, body) = host.post("/mcp/p/merger", &ping, &[]);
    assert_eq!(status, 404, "{body}");
    says(&body, &["There are: work.", "write shipped_presets = [\\\"merger\\\"] under [host]"]);
    assert_eq!(served(&place, &[], &[]).tools().len(), 13);
    let doctor = place.run(&["doctor"]).stdout();
    says(&doctor, &["sets no preset for clients that name none", "default_preset = \"work\" under [host]"]);
}

#[test]
fn a_block_of_the_file_replaces_the_shipped_one_as_a_whole() {
    let file = "[gates.proxy]\ngrants = [\"servers\"]\n[presets.work]\nextends = [\"proxy\"]\n";
    assert_eq!(granted(&Place::with(file, &[]), "proxy"), json!(["servers"]));
    let file = "[presets.proxy]\ngates.kg = {}\n[presets.work]\nextends = [\"proxy\"]\n";
    let place = Place::with(file, &[]);
    assert_eq!(served(&place, &["--preset", "work"], &[]).tools().len(), 5);
    assert_eq!(granted(&place, "kg"), json!([]));
}

#[test]
fn another_component_under_a_shipped_name_gets_no_shipped_grants() {
    let place = Place::with("[presets.work]\nextends = [\"proxy\"]\n", &[]);
    place.write("gates/proxy.wasm", built("echo"));
    assert_eq!(granted(&place, "proxy"), json!([]));
}

#[test]
fn a_file_of_servers_alone_serves_the_shipped_presets() {
    let place = Place::with("[servers.web]\nurl = \"http://127.0.0.1:9/mcp\"\n", &[]);
    assert_eq!(presets(&place), ["full"]);
    assert_eq!(served(&place, &[], &[]).tools().len(), 13);
    let tools = served(&place, &["--preset", "proxy"], &[]).tools();
    assert!(tools.iter().any(|tool| tool == "search_tools"), "{tools:?}");
    let search = place.run(&["tools", "search", "anything"]);
    assert!(!search.stderr().contains("using preset"), "{}", search.stderr());
    says(&search.stdout(), &["web"]);
    assert_eq!(place.run(&["doctor"]).code(), 0);
    let unknown = place.command(&["doctor"]).env("MCP_PRESET", "ful").output().expect("run");
    assert_eq!(unknown.status.code(), Some(1));
    says(&String::from_utf8_lossy(&unknown.stdout), &["chosen preset: MCP_PRESET: unknown preset 'ful'"]);
}

#[test]
fn a_default_may_be_a_shipped_preset_and_is_served_by_name() {
    let file = "[host]\ndefault_preset = \"merger\"\n[presets.mine]\ngates.idea = {}\n";
    let place = Place::with(file, &[]);
    assert_eq!(presets(&place), ["merger", "mine"]);
    assert_eq!(served(&place, &[], &[]).tools().len(), 5);
    let wrong = Place::with(&file.replace("merger", "merge"), &[]);
    says(&refused(&wrong, &[], &[]), &["unknown preset 'merge'. Did you mean 'merger'?", "mine"]);
}

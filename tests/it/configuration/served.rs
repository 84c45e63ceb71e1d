//! The presets that HTTP serves: those of the file, its default, and the shipped ones that `shipped_presets` names.

use serde_json::json;

use super::{refused, says};
use crate::support::{Http, Place, session::reply_to};

const OWN: &str = "[presets.safe]\ngates.kg = {}\ngates.proxy = {}\ndeny = [\"kg_*\", \"call_tool\"]\nproxied = []\n\
    approve = { effect = \"read-only\" }\n[gates.kg]\ngrants = [\"knowledge\"]\n[gates.proxy]\ngrants = [\"servers\"]\n";

const SHIPPED: [&str; 9] =
    ["code", "context", "documents", "full", "gateway", "ideation", "implementation", "merger", "proxy"];

/// Posts a ping, and returns status and body.
fn ping(host: &Http, path: &str) -> (u16, String) {
    let (status, _, body) = host.post(path, &json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}), &[]);
    (status, body)
}

#[test]
fn no_address_of_a_host_reaches_more_than_the_presets_of_its_file() {
    let place = Place::with(OWN, &[]);
    let host = Http::with(&place, &[], &[]);
    host.log_with("sets no preset for clients that name none");
    let (status, body) = ping(&host, "/mcp");
    assert_eq!(status, 404, "{body}");
    says(
        &body,
        &["this host has no default preset", "/mcp/p/safe", "default_preset = \\\"safe\\\" under [host]"],
    );
    for preset in SHIPPED {
        let (status, body) = ping(&host, &format!("/mcp/p/{preset}"));
        assert_eq!(status, 404, "{body}");
        says(&body, &["There are: safe.", &format!("shipped_presets = [\\\"{preset}\\\"] under [host]")]);
    }
    let session = host.session("/mcp/p/safe", &[]);
    let listed =
        host.request("/mcp/p/safe", &session, "tools/list", json!({}))["result"]["tools"].to_string();
    assert!(listed.contains("search_knowledge") && !listed.contains("kg_edit"), "{listed}");
    let (_, _, body) = host.post(
        "/mcp",
        &json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "kg_edit"}}),
        &[("mcp-session-id", &session)],
    );
    assert!(body.contains("no default preset"), "{body}");
}

#[test]
fn a_shipped_preset_is_served_when_the_file_names_it() {
    let place = Place::with(&format!("[host]\nshipped_presets = [\"documents\"]\n{OWN}"), &[]);
    let host = Http::with(&place, &[], &[]);
    let session = host.session("/mcp/p/documents", &[]);
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
    let (_, _, body) = host.post("/mcp/p/documents", &message, &[("mcp-session-id", &session)]);
    assert!(reply_to(7, &body)["result"]["tools"].is_array(), "{body}");
    let (status, body) = ping(&host, "/mcp/p/full");
    assert_eq!(status, 404, "{body}");
    says(&body, &["[\\\"documents\\\", \\\"full\\\"]"]);
    let config = place.run(&["mcp-config", "proxy", "--http", host.address()]);
    says(
        &config.stderr(),
        &["'proxy' is not served over HTTP", "shipped_presets = [\"documents\", \"proxy\"]"],
    );
    let listed = place.run(&["presets", "list"]);
    says(&listed.stdout(), &["documents (shipped)", "proxy (shipped, not over HTTP)"]);
    let wrong = Place::with("[host]\nshipped_presets = [\"prox\"]\n", &[]);
    says(&refused(&wrong, &[], &[]), &[":2:20: there is no shipped preset 'prox'. Did you mean 'proxy'?"]);
}

#[test]
fn the_built_in_presets_are_all_served_and_are_shipped() {
    let place = Place::with("", &[]);
    std::fs::remove_file(place.path("presets.toml")).expect("remove presets.toml");
    let host = Http::with(&place, &[], &[]);
    for path in ["/mcp".to_owned()].into_iter().chain(SHIPPED.map(|preset| format!("/mcp/p/{preset}"))) {
        host.session(&path, &[]);
    }
    let listed = place.run(&["presets", "list", "--json"]).json();
    assert!(listed.as_array().expect("presets").iter().all(|preset| preset["shipped"] == true), "{listed}");
}

#[test]
fn a_rule_for_a_preset_that_is_not_served_fails_the_check() {
    let rules = "[auth]\n[[access]]\nwho = [\"*\"]\npresets = [\"documents\"]\ntools = [\"*\"]\n";
    let place = Place::with(rules, &[]);
    let check = place.run(&["presets", "check"]);
    assert_eq!(check.code(), 1, "{}", check.stdout());
    says(&check.stdout(), &["pattern 'documents'", "shipped_presets = [\"documents\"] under [host]"]);
    let explained = place.run(&["explain", "search_documents", "--preset", "documents", "--as", "key:ann"]);
    says(&explained.stdout(), &["not allowed:", "shipped_presets = [\"documents\"] under [host]"]);
}

#[test]
fn enabled_gates_without_their_grants_end_the_start() {
    let place = Place::with("[gates.kg]\ngrants = []\n", &[]);
    let line = refused(&place, &[], &[("MCP_ENABLED_GATES", "kg")]);
    says(&line, &["gate 'kg' is granted nothing", "under [gates.kg] in presets.toml"]);
}

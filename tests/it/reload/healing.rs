//! A reload must not restore revoked grants or former versions, and must restore broken presets.

use std::fs;

use serde_json::json;

use super::status;
use crate::support::{Client, Http, Place, put};

const KEPT: &str = "[presets.one]\ngates.echo = {}\n";

#[test]
fn a_former_version_comes_back_with_what_is_granted_now() {
    let granted = format!("[gates.echo]\ngrants = [\"knowledge:read\"]\n{KEPT}");
    let place = Place::with(&granted, &["echo"]);
    let vices = place.gate_bytes("vices");
    place.replace_gate("echo", &vices);
    let mut client = Client::start(&place, "one");
    assert_eq!(client.text("vice_ungranted", json!({})), "0 hits");
    place.replace_gate("echo", &crate::support::variant(&vices, 1));
    client.log_with("was reloaded");
    // The grant is revoked while the new version is on trial; the trial continues.
    place.write("presets.toml", KEPT);
    client.log_with("changed and is in use");
    assert!(client.fails("vice_ungranted", json!({})).contains("has no grant"));
    for _ in 0..3 {
        client.fails("vice_trap", json!({}));
    }
    client.log_with(" is served again");
    assert!(client.fails("vice_ungranted", json!({})).contains("has no grant"));
    place.write("presets.toml", format!("{KEPT}deny = [\"vice_loop\"]\n"));
    client.wait_for_list_changes(1);
    let log = client.log();
    assert_eq!(log.matches("was reloaded").count(), 1, "{log}");
}

#[test]
fn a_former_version_does_not_come_back_past_a_pin() {
    let place = Place::with(KEPT, &["echo"]);
    let mut client = Client::start(&place, "one");
    client.tools();
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.wait_for_list_changes(1);
    let inspected = place.run(&["gates", "inspect", "echo", "--json"]).json();
    let pin = inspected["sha256"].as_str().expect("a digest").to_owned();
    place.write("presets.toml", format!("[gates.echo]\nsha256 = \"{pin}\"\n{KEPT}"));
    client.log_with("changed and is in use");
    for _ in 0..3 {
        client.fails("vice_trap", json!({}));
    }
    client.log_with("the previous version cannot be restored");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn a_grant_can_be_taken_away_though_the_gates_file_is_broken() {
    let granted = format!("[gates.echo]\ngrants = [\"knowledge:read\"]\n{KEPT}");
    let place = Place::with(&granted, &["echo"]);
    place.replace_gate("echo", &place.gate_bytes("vices"));
    let mut client = Client::start(&place, "one");
    assert_eq!(client.text("vice_ungranted", json!({})), "0 hits");
    put(&place.path("gates/echo.wasm"), b"broken");
    client.log_with("the new version is refused");
    place.write("presets.toml", KEPT);
    client.log_with("changed and is in use");
    assert!(client.fails("vice_ungranted", json!({})).contains("has no grant"));
}

#[test]
fn a_preset_that_was_broken_at_the_start_is_served_once_its_gate_is_there() {
    let presets = format!("{KEPT}[presets.two]\ngates.vices = {{}}\n");
    let place = Place::with(&presets, &["echo"]);
    let host = Http::start(&place, "one", &[]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    assert_eq!(host.post("/mcp/p/two", &list, &[]).0, 503);
    place.write("gates/vices.wasm", "not yet");
    place.add_gate("vices");
    while host.post("/mcp/p/two", &list, &[]).0 == 503 {}
    let session = host.session("/mcp/p/two", &[]);
    let listed = host.request("/mcp/p/two", &session, "tools/list", json!({}));
    assert!(listed.to_string().contains("well_behaved"), "{listed}");
}

#[test]
fn a_gates_folder_that_is_put_in_the_place_of_another_is_followed() {
    let place = Place::with(KEPT, &["echo"]);
    let mut client = Client::start(&place, "one");
    client.tools();
    fs::create_dir(place.path("next")).expect("a folder");
    fs::write(place.path("next/echo.wasm"), place.gate_bytes("vices")).expect("a gate");
    fs::rename(place.path("gates"), place.path("former")).expect("rename");
    fs::rename(place.path("next"), place.path("gates")).expect("rename");
    // Only the folder's content is watched, so a change of `presets.toml` triggers the check.
    place.write("presets.toml", format!("{KEPT}aliases = {{}}\n"));
    client.wait_for_list_changes(1);
    assert!(client.tools().contains(&"well_behaved".to_owned()));
    place.replace_gate("echo", &place.gate_bytes("echo"));
    client.wait_for_list_changes(2);
    assert_eq!(client.tools(), ["big", "echo"]);
}

#[test]
fn another_data_folder_waits_for_the_next_start() {
    let place = Place::with(KEPT, &["echo"]);
    let mut client = Client::start(&place, "one");
    client.tools();
    place.write("presets.toml", format!("[host]\nstate = \"elsewhere\"\n{KEPT}deny = [\"big\"]\n"));
    client.wait_for_list_changes(1);
    client.log_with("host.state changed in presets.toml");
    while status(&place)["hosts"][0]["health"]["restart"] != "host.state" {}
    assert!(!place.path("elsewhere").exists());
}

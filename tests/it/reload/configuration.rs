//! Edits of `presets.toml` while the host runs: valid edits apply immediately, and invalid ones change nothing.

use std::fs;

use serde_json::json;

use super::{PRESETS, running_host, status};
use crate::support::{Client, Place};

#[test]
fn an_edit_is_in_force_at_once_and_loses_no_call() {
    let (place, mut client) = running_host();
    let ask = |client: &mut Client| {
        client.ask("tools/call", json!({"name": "echo", "arguments": {"text": "x".repeat(10_000)}}))
    };
    let mut flying: Vec<u64> = (0..16).map(|_| ask(&mut client)).collect();
    place.write("presets.toml", format!("{PRESETS}aliases = {{ say = \"echo\" }}\n"));
    let mut answered = 0;
    while client.list_changes() == 0 {
        let answer = client.answer(flying.remove(0));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answered += 1;
        flying.push(ask(&mut client));
    }
    for id in flying {
        assert_eq!(client.answer(id)["result"]["isError"], false);
    }
    assert_eq!(client.tools(), ["big", "echo", "say"]);
    assert_eq!(client.text("say", json!({"text": "hi"})), "hi");
    assert!(answered > 0 && client.list_changes() == 1);
}

#[test]
fn a_gate_that_no_preset_has_is_logged() {
    let (place, client) = running_host();
    place.add_gate("shelf");
    let log = client.log_with("is not in any preset");
    let message = "gates/shelf.wasm is not in any preset; to serve it, add to a preset: gates.shelf = {}";
    assert!(log.contains(message), "{log}");
    assert!(!log.contains("echo.wasm is not in"), "{log}");
}

#[test]
fn a_broken_edit_keeps_the_last_good_configuration() {
    let (place, mut client) = running_host();
    let good = fs::read_to_string(place.path("presets.toml")).expect("read");
    for (broken, reason) in [
        ("[presets.one\n", "presets.toml:1:"),
        ("[presets.one]\ngatez = 1\n", "unknown key 'gatez'"),
        ("[presets.one]\ngates.echo = { prefix = 5 }\n", "prefix"),
        ("[presets.one]\nextends = [\"one\"]\n", "cycle: one -> one"),
        ("[presets.two]\ngates.echo = {}\n", "unknown preset 'one'"),
        ("[presets.one]\ngates.ecko = {}\n", "unknown gate 'ecko'"),
    ] {
        place.write("presets.toml", broken);
        client.log_with(reason);
        assert_eq!(client.tools(), ["big", "echo"], "{broken}");
        assert_eq!(client.text("echo", json!({"text": "still"})), "still");
    }
    fs::remove_file(place.path("presets.toml")).expect("remove");
    client.log_with("cannot be read");
    assert_eq!(client.text("echo", json!({"text": "here"})), "here");

    place.write("presets.toml", "[presets.one]\nextends = [\"one\"]\n");
    // `status` reads the broken file too, and still shows the host with the last valid one.
    loop {
        let ran = place.run(&["status", "--json"]);
        assert_eq!(ran.code(), 2);
        let report: serde_json::Value = serde_json::from_str(&ran.stdout()).expect("JSON");
        let reason = report["hosts"][0]["health"]["configuration"].as_str().unwrap_or_default().to_owned();
        if reason.contains("cycle") && reason.contains("presets.toml") {
            break;
        }
    }
    place.write("presets.toml", format!("{good}deny = [\"big\"]\n"));
    client.wait_for_list_changes(1);
    assert_eq!(client.tools(), ["echo"]);
    client.log_with("is in use");
}

#[test]
fn a_gate_may_come_after_the_preset_that_names_it() {
    let (place, mut client) = running_host();
    place.write("presets.toml", format!("{PRESETS}gates.vices = {{}}\n"));
    client.log_with("unknown gate 'vices'");
    assert_eq!(client.tools(), ["big", "echo"]);
    place.add_gate("vices");
    client.wait_for_list_changes(1);
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn a_gate_and_its_preset_may_change_together() {
    let (place, mut client) = running_host();
    // Neither change fits the other's old state: the old gate lacks the alias' target, and the new gate rejects the old
    // one's parameter.
    place.write("presets.toml", "[presets.one]\ngates.echo = { prefix = \"a_\" }\n");
    client.wait_for_list_changes(1);
    assert_eq!(client.tools(), ["a_big", "a_echo"]);
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.log_with("the new version is refused");
    place.write("presets.toml", "[presets.one]\ngates.echo = {}\naliases = { good = \"well_behaved\" }\n");
    client.wait_for_list_changes(2);
    assert_eq!(client.text("good", json!({})), "fine");
    while status(&place)["hosts"][0]["health"]["gates"] != json!({}) {}
}

#[test]
fn grants_and_limits_follow_the_file() {
    let presets = "[presets.one]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "one");
    assert!(client.fails("vice_ungranted", json!({})).contains("knowledge:read"));
    place.write("presets.toml", format!("[gates.vices]\ngrants = [\"knowledge:read\"]\n{presets}"));
    client.log_with("is in use");
    assert_eq!(client.text("vice_ungranted", json!({})), "0 hits");
}

#[test]
fn what_needs_a_new_start_is_reported() {
    let (place, mut client) = running_host();
    place.write("presets.toml", format!("[knowledge]\nwiki_roots = [\"wiki\"]\n{PRESETS}deny = [\"big\"]\n"));
    client.wait_for_list_changes(1);
    client.log_with("restart the host to apply the change");
    while status(&place)["hosts"][0]["health"]["restart"] != "knowledge" {}
}

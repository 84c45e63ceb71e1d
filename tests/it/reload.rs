//! Hot reload: the host follows file changes, notifies clients when their tools change, and retains the previous
//! version if the new one is broken.

mod configuration;
mod healing;
mod over_http;
mod probation;
mod soak;
mod widening;

use std::{fs, path::Path};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Client, Place, fault_of, put, variant};

const PRESETS: &str = "[presets.one]\ngates.echo = {}\n";

fn running_host() -> (Place, Client) {
    let place = Place::with(PRESETS, &["echo"]);
    let mut client = Client::start(&place, "one");
    // A client without a list gets no notifications.
    assert_eq!(client.tools(), ["big", "echo"]);
    (place, client)
}

fn rolled_back(unfit: &[u8], served: &[u8]) -> String {
    let [unfit, served] = [unfit, served].map(|bytes| {
        Sha256::digest(bytes).iter().take(6).map(|byte| format!("{byte:02x}")).collect::<String>()
    });
    format!("version {unfit} trapped three times in a row; version {served} is served again")
}

fn status(place: &Place) -> Value {
    place.run(&["status", "--json"]).json()
}

#[test]
fn a_replaced_gate_is_served_and_the_client_is_notified() {
    let (place, mut client) = running_host();
    assert_eq!(client.tools(), ["big", "echo"]);
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.wait_for_list_changes(1);
    assert!(client.tools().contains(&"well_behaved".to_owned()));
    assert_eq!(client.text("well_behaved", json!({})), "fine");
    assert!(client.log_with("gate 'echo' was reloaded").contains("lists changed in"));
}

#[test]
fn a_call_ends_on_the_version_it_began_with() {
    let presets = "[gates.echo]\nlimits = { time = \"1 s\" }\n[presets.one]\ngates.echo = {}\n";
    let place = Place::with(presets, &["echo"]);
    let (echo, vices) = (place.gate_bytes("echo"), place.gate_bytes("vices"));
    place.replace_gate("echo", &vices);
    let mut client = Client::start(&place, "one");
    client.tools();
    let running = client.ask("tools/call", json!({"name": "vice_loop", "arguments": {}}));
    place.replace_gate("echo", &echo);
    client.wait_for_list_changes(1);
    assert_eq!(client.tools(), ["big", "echo"]);
    // The old version's tool is now unknown, but its running call ends normally.
    let answer = client.answer(running);
    assert_eq!(fault_of(&answer["result"])["type"], "TIMEOUT", "{answer}");
    assert_eq!(client.call("vice_loop", json!({}))["message"], "Unknown tool: 'vice_loop'.");
}

#[test]
fn clients_are_notified_only_when_their_list_changes() {
    let (place, mut client) = running_host();
    let echo = place.gate_bytes("echo");
    assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    // Another digest with the same tools: reloaded without a notification.
    place.replace_gate("echo", &variant(&echo, 1));
    client.log_with("gate 'echo' was reloaded");
    // The same bytes in a new file: not reloaded.
    place.replace_gate("echo", &variant(&echo, 1));
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.wait_for_list_changes(1);
    client.request("ping", json!({}));
    assert_eq!(client.list_changes(), 1);
    // The log arrives separately from the messages.
    while client.log().matches("was reloaded").count() < 2 {
        std::thread::yield_now();
    }
    assert_eq!(client.log().matches("was reloaded").count(), 2, "{}", client.log());
}

#[test]
fn a_broken_file_leaves_the_old_version_serving() {
    let (place, mut client) = running_host();
    assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    let vices = place.gate_bytes("vices");
    let gate = place.path("gates/echo.wasm");
    for (broken, reason) in [
        (&b"no wasm at all"[..], "is not WebAssembly"),
        (&b"\0asm\x01\0\0\0"[..], "core WebAssembly module"),
        (&vices[..vices.len() / 2], "is not a valid component"),
    ] {
        put(&gate, broken);
        let log = client.log_with(reason);
        assert!(log.contains("gate 'echo': its file changed, and the new version is refused"), "{log}");
        assert_eq!(client.text("echo", json!({"text": "b"})), "b");
        assert_eq!(client.tools(), ["big", "echo"]);
    }
    let reason = loop {
        // Hosts write their status shortly after a change.
        if let Some(reason) = status(&place)["hosts"][0]["health"]["gates"]["echo"].as_str() {
            break reason.to_owned();
        }
    };
    assert!(reason.contains("refused") && reason.contains("echo.wasm"), "{reason}");
    // Written in place and slowly, as by a copy over a network.
    write_slowly(&gate, &vices);
    client.wait_for_list_changes(1);
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

fn write_slowly(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    let mut file = fs::File::create(path).expect("open");
    for part in bytes.chunks(bytes.len() / 6) {
        file.write_all(part).and_then(|()| file.sync_all()).expect("write");
    }
}

#[test]
fn a_version_whose_tools_collide_is_refused() {
    let presets = "[presets.two]\ngates.echo = {}\ngates.vices = {}\n";
    let place = Place::with(presets, &["echo", "vices"]);
    let mut client = Client::start(&place, "two");
    let before = client.tools();
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.log_with("tool name collision");
    assert_eq!(client.tools(), before);
}

#[test]
fn a_removed_gate_takes_its_tools_along_and_brings_them_back() {
    let (place, mut client) = running_host();
    assert_eq!(client.tools(), ["big", "echo"]);
    let gate = place.path("gates/echo.wasm");
    fs::rename(&gate, place.path("gates/other.wasm")).expect("rename");
    client.wait_for_list_changes(1);
    assert_eq!(client.tools(), [""; 0]);
    client.log_with("its tools are withdrawn until its file is back");
    fs::rename(place.path("gates/other.wasm"), &gate).expect("rename");
    client.wait_for_list_changes(2);
    assert_eq!(client.text("echo", json!({"text": "back"})), "back");
    while status(&place)["hosts"][0]["health"]["gates"] != json!({}) {}
}

#[test]
fn a_version_that_traps_three_times_makes_room_for_the_one_before() {
    let (place, mut client) = running_host();
    assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.wait_for_list_changes(1);
    for _ in 0..3 {
        assert!(client.fails("vice_trap", json!({})).contains("trapped"));
    }
    client.wait_for_list_changes(2);
    assert_eq!(client.tools(), ["big", "echo"]);
    assert_eq!(client.text("echo", json!({"text": "old"})), "old");
    client.log_with(&rolled_back(&place.gate_bytes("vices"), &place.gate_bytes("echo")));
    // The bad file stays in place and is not loaded again; a different one is.
    place.replace_gate("echo", &variant(&place.gate_bytes("vices"), 1));
    client.wait_for_list_changes(3);
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_refused() {
    let place = Place::with(PRESETS, &["echo"]);
    let gate = place.path("gates/echo.wasm");
    fs::rename(&gate, place.path("elsewhere.wasm")).expect("move");
    std::os::unix::fs::symlink("../elsewhere.wasm", &gate).expect("link");
    let ran = place.run(&["serve", "--preset", "one"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("is a link to a file outside its directory"), "{}", ran.stderr());
    assert!(ran.stderr().contains("`component` under [gates.echo]"), "{}", ran.stderr());
    place.write("presets.toml", format!("[gates.echo]\ncomponent = \"elsewhere.wasm\"\n{PRESETS}"));
    assert_eq!(Client::start(&place, "one").tools(), ["big", "echo"]);
}

#[test]
fn status_shows_which_clients_were_notified_and_have_listed_since() {
    let (place, mut client) = running_host();
    client.tools();
    place.replace_gate("echo", &place.gate_bytes("vices"));
    client.wait_for_list_changes(1);
    let up_to_date = |wanted: bool| loop {
        let report = status(&place);
        let known = &report["hosts"][0]["clients"][0];
        if known["told_at"].is_u64() && known["up_to_date"] == wanted {
            break report;
        }
    };
    let report = up_to_date(false);
    assert_eq!(report["hosts"][0]["clients"][0]["name"], "test", "{report}");
    client.tools();
    up_to_date(true);
    assert!(place.run(&["status"]).stdout().contains("of new tools and listed them"));
    assert_eq!(client.close(), Some(0));
    assert_eq!(status(&place)["hosts"], json!([]));
}

//! A version is identified by its content: a file that is touched, copied again or removed for a while is the same
//! version, with the same trial and verdict.

use std::fs;

use serde_json::json;

use super::{PRESETS, rolled_back, running_host};
use crate::support::{Client, Place, put, variant};

/// Makes the host check its files, and waits until it has.
fn look(place: &Place, client: &Client, times: usize) {
    place.write("presets.toml", format!("{PRESETS}# {times}\n"));
    while client.log().matches("changed and is in use").count() < times {
        std::thread::yield_now();
    }
}

fn trap(client: &mut Client, times: usize) {
    for _ in 0..times {
        assert!(client.fails("vice_trap", json!({})).contains("trapped"));
    }
}

#[test]
fn a_bad_version_is_rolled_back_though_its_file_is_touched_and_copied_again() {
    let (place, mut client) = running_host();
    let (gate, bad) = (place.path("gates/echo.wasm"), place.gate_bytes("vices"));
    put(&gate, &bad);
    client.wait_for_list_changes(1);
    trap(&mut client, 1);
    put(&gate, &bad);
    look(&place, &client, 1);
    trap(&mut client, 1);
    fs::File::options()
        .write(true)
        .open(&gate)
        .expect("open")
        .set_modified(std::time::SystemTime::now())
        .expect("touch");
    look(&place, &client, 2);
    trap(&mut client, 1);
    client.wait_for_list_changes(2);
    assert_eq!(client.tools(), ["big", "echo"]);
    client.log_with(&rolled_back(&bad, &place.gate_bytes("echo")));
    put(&gate, &bad);
    look(&place, &client, 3);
    client.log_with("trapped three times in a row before; build another version");
    assert_eq!(client.tools(), ["big", "echo"]);
    assert_eq!(client.text("echo", json!({"text": "old"})), "old");
}

#[test]
fn the_log_names_the_version_that_is_served_again_though_it_is_not_the_one_before() {
    let (place, mut client) = running_host();
    let (gate, echo, bad) =
        (place.path("gates/echo.wasm"), place.gate_bytes("echo"), place.gate_bytes("vices"));
    // This version is still on trial when the bad one arrives.
    put(&gate, &variant(&echo, 1));
    client.log_with("gate 'echo' was reloaded");
    put(&gate, &bad);
    client.wait_for_list_changes(1);
    trap(&mut client, 3);
    client.log_with(&rolled_back(&bad, &echo));
    assert_eq!(client.tools(), ["big", "echo"]);
}

#[test]
fn a_bad_version_is_rolled_back_though_its_file_goes_and_comes_back() {
    let (place, mut client) = running_host();
    let (gate, bad) = (place.path("gates/echo.wasm"), place.gate_bytes("vices"));
    put(&gate, &bad);
    client.wait_for_list_changes(1);
    trap(&mut client, 2);
    fs::remove_file(&gate).expect("remove");
    client.wait_for_list_changes(2);
    assert_eq!(client.tools(), [""; 0]);
    put(&gate, &bad);
    client.wait_for_list_changes(3);
    client.tools();
    trap(&mut client, 1);
    client.wait_for_list_changes(4);
    assert_eq!(client.tools(), ["big", "echo"]);
    // Removed and restored, the file brings back the version that was served then.
    fs::remove_file(&gate).expect("remove");
    client.wait_for_list_changes(5);
    assert_eq!(client.tools(), [""; 0]);
    put(&gate, &bad);
    client.wait_for_list_changes(6);
    assert_eq!(client.tools(), ["big", "echo"]);
}

#[test]
fn a_bad_version_in_the_place_of_a_removed_file_is_rolled_back_too() {
    let (place, mut client) = running_host();
    let gate = place.path("gates/echo.wasm");
    fs::remove_file(&gate).expect("remove");
    client.wait_for_list_changes(1);
    assert_eq!(client.tools(), [""; 0]);
    put(&gate, &place.gate_bytes("vices"));
    client.wait_for_list_changes(2);
    client.tools();
    trap(&mut client, 3);
    client.wait_for_list_changes(3);
    assert_eq!(client.tools(), ["big", "echo"]);
}

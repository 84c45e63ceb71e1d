//! Memory outside the guest: everything that the host holds for a gate counts toward one budget.

use serde_json::{Value, json};

use crate::support::{Client, Place};

/// Above the memory budget of one call plus the work on it, and far below the demand of these tools.
const MOST: u64 = 150 << 20;

fn peak(client: &Client) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", client.pid())).expect("a running process");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("VmHWM");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kib * 1024
}

/// Calls a tool. Returns the growth of the peak, and the result.
fn growth(client: &mut Client, tool: &str, arguments: Value) -> (u64, Value) {
    let before = peak(client);
    let result = client.call(tool, arguments.clone());
    let growth = peak(client) - before;
    eprintln!("{tool} {arguments}: the host grew by {} MiB", growth >> 20);
    (growth, result)
}

#[test]
fn requests_that_are_never_sent_are_on_the_budget() {
    let place = Place::with("[presets.bad]\ngates.wasi-fetch = {}\n", &["wasi-fetch"]);
    let mut client = Client::start(&place, "bad");
    assert_eq!(client.text("hoard", json!({"what": "requests", "times": 1})), "1 kept");
    for what in ["requests", "responses", "headers", "methods"] {
        let (growth, result) = growth(&mut client, "hoard", json!({"what": what, "times": 1_000}));
        assert!(growth < MOST, "{what}: {growth} bytes");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        match what {
            "headers" => assert!(text.contains("used more than 64 MiB of host memory"), "{result}"),
            "methods" => assert!(text.contains("wasi:http says"), "{result}"),
            _ => assert_eq!(text, "1000 kept"),
        }
    }
    assert_eq!(client.text("hoard", json!({"what": "headers", "times": 10})), "10 kept");
}

#[test]
fn a_gate_that_describes_itself_has_the_same_budget() {
    let peak_with = |hoard: u32| {
        let presets = format!("[presets.bad]\ngates.wasi-fetch = {{ hoard = {hoard} }}\n");
        let place = Place::with(&presets, &["wasi-fetch"]);
        let mut client = Client::start(&place, "bad");
        let listed = client.request("tools/list", json!({}));
        assert!(listed.to_string().contains(&format!("{hoard} by now")), "{listed}");
        peak(&client)
    };
    let (modest, greedy) = (peak_with(1), peak_with(300));
    assert!(greedy < modest + MOST, "{modest} bytes, and {greedy} with three hundred requests");
}

#[test]
fn values_of_all_blocks_of_a_reply_count_together() {
    let presets = "[gates.vices]\nlimits = { memory = \"128 MiB\" }\n[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "bad");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
    for vice in ["vice_values", "vice_objects"] {
        let (growth, result) = growth(&mut client, vice, json!({}));
        assert!(growth < MOST, "{vice}: {growth} bytes");
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains("broke the contract") && text.contains("content block"), "{result}");
    }
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn folder_listings_are_on_the_budget() {
    let presets =
        "[gates.keeper.folders]\n\"/data\" = { path = \"data\" }\n[presets.bad]\ngates.keeper = {}\n";
    let place = Place::with(presets, &["keeper"]);
    for n in 0..5_000 {
        place.write(&format!("data/a-file-whose-name-is-not-short-at-all-{n}"), "");
    }
    let mut client = Client::start(&place, "bad");
    assert_eq!(client.text("open_listings", json!({"name": "/data", "times": 3})), "3 open");
    let (growth, result) = growth(&mut client, "open_listings", json!({"name": "/data", "times": 900}));
    assert!(growth < MOST, "{growth} bytes");
    assert!(result.to_string().contains("used more than 64 MiB of host memory"), "{result}");
    assert_eq!(client.text("open_listings", json!({"name": "/data", "times": 3})), "3 open");
}

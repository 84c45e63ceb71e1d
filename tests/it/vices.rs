//! Hostile gates: a gate can only end its own call.

mod bombs;
mod hoards;
mod shares;

use std::{
    fs,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::support::{Client, Place, fault_of};

fn host() -> (Place, Client) {
    let presets = "[gates.vices]\nlimits = { time = \"500 ms\", memory = \"16 MiB\" }\n\n[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let client = Client::start(&place, "bad");
    (place, client)
}

#[test]
fn endless_loops_end_at_their_deadline_while_others_are_served() {
    let (_place, mut client) = host();
    assert_eq!(client.text("well_behaved", json!({})), "fine");
    let started = Instant::now();
    // Four on two cores would starve other calls, if gates could.
    let loops: Vec<u64> =
        (0..4).map(|_| client.ask("tools/call", json!({"name": "vice_loop", "arguments": {}}))).collect();
    let mut slowest = Duration::ZERO;
    let mut calls = 0;
    while started.elapsed() < Duration::from_millis(300) {
        let asked = Instant::now();
        assert_eq!(client.text("well_behaved", json!({})), "fine");
        client.request("ping", json!({}));
        slowest = slowest.max(asked.elapsed());
        calls += 1;
    }
    for id in loops {
        let answer = client.answer(id);
        let error = fault_of(&answer["result"]);
        assert_eq!(error["type"], "TIMEOUT", "{answer}");
        assert!(error["message"].as_str().expect("a message").contains("stopped after 0.5 s"), "{answer}");
    }
    // Not asserted, because the machine may be shared.
    eprintln!(
        "{calls} calls and pings during four endless loops, slowest {slowest:?}; loops ended after {:?}",
        started.elapsed()
    );
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn a_trap_is_a_fault_with_the_guests_last_words() {
    let (_place, mut client) = host();
    let text = client.fails("vice_trap", json!({}));
    assert!(text.contains("gate 'vices' trapped") && text.contains("on purpose"), "{text}");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn memory_is_capped_and_comes_back() {
    let (_place, mut client) = host();
    assert_eq!(client.text("well_behaved", json!({})), "fine");
    let before = resident(client.pid());
    for _ in 0..20 {
        let text = client.fails("vice_memory", json!({}));
        assert!(text.contains("ran out of memory: its limit is 16 MiB"), "{text}");
    }
    let after = resident(client.pid());
    assert!(after < before + (64 << 20), "resident memory went from {before} to {after} bytes");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn deep_recursion_ends_the_call() {
    let (_place, mut client) = host();
    let text = client.fails("vice_recursion", json!({}));
    assert!(text.contains("trapped"), "{text}");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn a_flood_is_cut_at_the_cap() {
    let presets = "[gates.vices]\nlimits = { memory = \"128 MiB\" }\n[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "bad");
    let text = client.fails("vice_flood", json!({}));
    assert!(text.contains("sent more than 16 MiB in one transfer"), "{text}");
    assert!(text.contains("raise limits.copy under [gates.vices] in presets.toml"), "{text}");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn an_endless_log_is_counted_and_dropped() {
    let presets = "[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "bad");
    assert_eq!(client.text("vice_log", json!({})), "said a lot");
    client.request("ping", json!({}));
    let log = client.log_with("99800");
    assert!(log.len() < 2 << 20, "{} bytes of log", log.len());
    assert!(
        log.contains("99800"),
        "the dropped lines are counted: {}",
        &log[log.len().saturating_sub(500)..]
    );
}

#[test]
fn hurried_progress_is_thinned_out() {
    let presets = "[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "bad");
    let meta = json!({"progressToken": "p"});
    let answer =
        client.request("tools/call", json!({"name": "vice_progress", "arguments": {}, "_meta": meta}));
    assert_eq!(answer["result"]["content"][0]["text"], "hurried", "{answer}");
    let count = client.notifications.iter().filter(|n| n["method"] == "notifications/progress").count();
    assert!((1..1_000).contains(&count), "{count} progress messages");
}

#[test]
fn what_is_not_granted_is_denied_with_the_line_to_add() {
    let (place, mut client) = host();
    let result = client.call("vice_ungranted", json!({}));
    let error = fault_of(&result);
    assert_eq!(error["type"], "PERMISSION", "{result}");
    assert_eq!(error["message"], "gate 'vices' has no grant 'knowledge:read'");
    assert!(error["suggestion"].as_str().expect("a suggestion").contains("[gates.vices] in presets.toml"));
    assert!(!place.path("state/knowledge.db").exists(), "a denied call must not open the engine");
}

#[test]
fn text_is_always_granted() {
    let place = Place::with("[presets.bad]\ngates.vices = {}\n", &["vices"]);
    let mut client = Client::start(&place, "bad");
    let text = client.text("extracts", json!({}));
    assert!(text.ends_with(", true"), "{text}");
    let text = client.text("digests", json!({}));
    assert!(text.ends_with(" tokens, true, true, true"), "{text}");
}

#[test]
fn a_cancelled_call_ends_and_the_host_goes_on() {
    let presets =
        "[gates.vices]\nlimits = { time = \"60 s\", concurrency = 1 }\n[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "bad");
    let id = client.ask("tools/call", json!({"name": "vice_loop", "arguments": {}}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    // Concurrency is 1 and the loop runs for 60 s, so this succeeds only if the canceled call released its slot.
    assert_eq!(client.text("well_behaved", json!({})), "fine");
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_guest_that_sleeps_is_woken_by_its_deadline() {
    let (_place, mut client) = host();
    let text = client.fails("vice_sleep", json!({}));
    assert!(text.contains("stopped after 0.5 s"), "{text}");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn a_flood_of_output_leaves_its_end() {
    let presets = "[gates.vices]\nlimits = { output = \"1 KiB\" }\n[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "bad");
    let text = client.fails("vice_output", json!({}));
    assert!(text.contains("trapped") && text.contains("the last words") && text.len() < 2_000, "{text}");
    assert!(client.log_with("the last words").len() < 20_000);
}

#[test]
fn an_exit_ends_the_call_and_not_the_host() {
    let (_place, mut client) = host();
    let text = client.fails("vice_exit", json!({}));
    assert!(text.contains("gate 'vices' exited with code"), "{text}");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn randomness_comes_in_small_portions() {
    let (_place, mut client) = host();
    let text = client.fails("vice_random", json!({}));
    assert!(text.contains("gate 'vices' failed: "), "{text}");
    let text = client.fails("vice_dice", json!({}));
    assert!(text.contains("stopped after 0.5 s"), "{text}");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
}

#[test]
fn limits_are_the_gates_own() {
    let presets = "[gates.vices]\nlimits = { memory = \"128 MiB\", log_lines = 3, copy = \"64 KiB\" }\n[presets.bad]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "bad");
    assert_eq!(client.text("vice_log", json!({})), "said a lot");
    client.log_with("99997");
    let text = client.fails("vice_flood", json!({}));
    assert!(text.contains("sent more than 64 KiB in one transfer"), "{text}");
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("a running process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("VmRSS");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kib * 1024
}

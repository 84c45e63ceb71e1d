//! Hostile servers: other servers are still served, and the host's memory stays bounded.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Listening, child, showing};
use crate::support::{Client, Place, fault_of, host::PATIENCE, text_of};

/// Maximum growth of the host by one server, in bytes: its memory share and the work on it.
const MOST: u64 = 200 << 20;

fn hostile() -> Place {
    let good = child("good", &[], "");
    let bad = child("bad", &["attacks=yes"], "timeout = \"20 s\"");
    showing(&["good", "bad"], &format!("{good}{bad}"))
}

fn everywhere(each: impl Fn(&Place)) {
    each(&hostile());
    for transport in ["http", "sse"] {
        let bad = Listening::start(transport, &["attacks=yes"]);
        let good = child("good", &[], "");
        let block = bad.block("bad", transport);
        each(&showing(&["good", "bad"], &format!("{good}{block}timeout = \"20 s\"\n")));
    }
}

fn memory(client: &Client, line: &str) -> u64 {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", client.pid())).expect("a running process");
    let line = status.lines().find(|each| each.starts_with(line)).expect("the line");
    let kib: u64 = line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("a number");
    kib * 1024
}

/// Calls a tool of the bad server, and checks that the good one is served and the host has not grown.
fn attack(client: &mut Client, tool: &str, arguments: Value) -> Value {
    let before = memory(client, "VmRSS:");
    let result = client.call(&format!("bad__{tool}"), arguments.clone());
    assert_eq!(client.text("good__echo", json!({"text": "well"})), "well");
    let growth = memory(client, "VmHWM:").saturating_sub(before);
    eprintln!("{tool} {:.60}: the host grew by {} MiB", arguments.to_string(), growth >> 20);
    assert!(growth < MOST, "{tool}: {} MiB", growth >> 20);
    result
}

#[test]
fn a_burst_of_changes_is_one_listing() {
    everywhere(|place| {
        let mut client = Client::start(place, "all");
        // Together below the 10,000 messages that the limit counts, so that no machine is slow enough to reach it.
        for kind in ["tools", "prompts", "resources"] {
            let method = format!("notifications/{kind}/list_changed");
            let result = attack(&mut client, "notify", json!({"count": 3_000, "method": method}));
            assert_eq!(text_of(&result), "notified");
        }
        assert!(memory(&client, "VmRSS:") < 300 << 20);
    });
}

#[test]
fn a_server_that_notifies_without_end_is_disconnected_and_left_alone() {
    let place = hostile();
    let mut client = Client::start(&place, "all");
    let result = attack(&mut client, "notify", json!({}));
    let fault = fault_of(&result);
    let reason = "it sent more than 1000 unrequested messages a second for 10 s";
    assert!(fault["message"].as_str().is_some_and(|message| message.contains(reason)), "{fault}");
    let log = client.log_with("disconnecting the server");
    assert!(log.contains(reason), "{log}");
    let error = client.fails("bad__echo", json!({"text": "again"}));
    assert!(error.contains("circuit breaker open for 'bad'") && error.contains(reason), "{error}");
}

#[test]
fn a_server_that_asks_and_takes_no_answers_fills_no_memory() {
    let place = hostile();
    let mut client = Client::start(&place, "all");
    for method in ["ping", "unknown/method"] {
        let id = client.ask("tools/call", json!({"name": "bad__question", "arguments": {"method": method}}));
        let before = memory(&client, "VmRSS:");
        let start = Instant::now();
        while start.elapsed().as_secs() < 2 {
            assert_eq!(client.text("good__echo", json!({"text": "well"})), "well");
        }
        let growth = memory(&client, "VmRSS:").saturating_sub(before);
        assert!(growth < 30 << 20, "{method}: {} MiB", growth >> 20);
        client.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
        // The first timeout disconnects this server, so start again.
        client = Client::start(&place, "all");
    }
}

#[test]
fn a_reply_with_too_many_values_fails_its_call_with_the_figure() {
    everywhere(|place| {
        let mut client = Client::start(place, "all");
        let result = attack(&mut client, "values", json!({"count": 6_000_000}));
        let message = fault_of(&result)["message"].as_str().expect("a message").to_owned();
        assert!(message.contains("; the limit is 500000"), "{message}");
        assert!(message.starts_with("cannot read the answer of server 'bad': it has 6000"), "{message}");
        assert_eq!(client.text("bad__echo", json!({"text": "still there"})), "still there");
        let result = attack(&mut client, "values", json!({"count": 200_000}));
        assert!(!result["isError"].as_bool().unwrap_or_default(), "within its limits");
    });
}

#[test]
fn an_answer_that_does_not_parse_fails_its_call_at_once() {
    everywhere(|place| {
        let mut client = Client::start(place, "all");
        let start = Instant::now();
        for text in ["[".repeat(100_000), "{\"content\": NaN}".into(), "{\"content\": [01]}".into()] {
            let result = attack(&mut client, "raw", json!({"text": text}));
            let message = fault_of(&result)["message"].as_str().expect("a message").to_owned();
            assert!(message.contains("it is not JSON"), "{message}");
        }
        assert!(start.elapsed() < PATIENCE);
        assert_eq!(client.text("bad__echo", json!({"text": "still there"})), "still there");
    });
}

#[test]
fn a_listing_that_grows_fat_is_not_read_to_its_end() {
    let place = hostile();
    let bad = child("bad", &["attacks=yes", "pages=18"], "");
    place.write(
        "presets.toml",
        format!("{}{bad}[presets.all]\nservers = [\"good\", \"bad\"]\n", child("good", &[], "")),
    );
    let mut client = Client::start(&place, "all");
    let known = client.tools();
    attack(&mut client, "fat", json!({"bytes": 15 << 20}));
    attack(&mut client, "notify", json!({"count": 1}));
    let log = client.log_with("cannot list the tools again");
    assert!(
        log.contains("its listing has 15") && log.contains("with tools/list; the limit is 4194304"),
        "{log}"
    );
    assert!(memory(&client, "VmHWM:") < 350 << 20);
    assert_eq!(client.tools(), known, "the last valid list");
}

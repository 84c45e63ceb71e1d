//! Servers that hang, exit, flood or send garbage during a call.

use std::time::Instant;

use serde_json::json;

use super::{Listening, child, recorded, recording, showing};
use crate::support::{
    Client, Place, fault_of,
    host::PATIENCE,
    place::{SHIPPED, repository},
    text_of,
};

#[test]
fn a_server_that_dies_in_mid_call_is_asked_once_and_started_again_by_the_next_call() {
    let place = recording(&[]);
    let mut client = Client::start(&place, "all");
    assert_eq!(client.text("s__echo", json!({"text": "before"})), "before");
    let error = client.fails("s__die", json!({}));
    assert!(error.contains("server 's' did not answer: ") && error.contains("dying on purpose"), "{error}");
    assert!(error.contains("The call may have taken effect."), "{error}");
    assert_eq!(recorded(&place, "tools/call die"), 1, "never sent twice");
    assert_eq!(client.text("s__echo", json!({"text": "after"})), "after");
    assert_eq!(recorded(&place, "start"), 2);
}

#[test]
fn a_call_without_an_answer_ends_at_its_deadline_and_the_server_is_notified() {
    let record = recording(&[]);
    let options = format!("record={}", record.path("record").display());
    let blocks = child("s", &[&options], "timeout = \"500 ms\"");
    record.write("presets.toml", format!("{blocks}[presets.all]\nservers = [\"s\"]\n"));
    let mut client = Client::start(&record, "all");
    let answer = client.call("s__never", json!({}));
    let fault = fault_of(&answer);
    assert_eq!(fault["type"], "TIMEOUT", "{fault}");
    assert_eq!(fault["message"], "'s__never' was stopped after 0.5 s; server 's' did not answer");
    let hint = fault["suggestion"].as_str().expect("a hint");
    assert!(hint.contains("timeout of [servers.s]"), "{hint}");
    assert_eq!(client.text("s__echo", json!({"text": "still there"})), "still there");
    let start = Instant::now();
    while recorded(&record, "notifications/cancelled") == 0 {
        assert!(start.elapsed() < PATIENCE, "the server was not notified");
        std::thread::yield_now();
    }
    assert_eq!((recorded(&record, "tools/call never"), recorded(&record, "start")), (1, 1));
}

#[test]
fn a_server_that_hangs_is_named_where_the_gate_in_front_of_it_runs_out_of_time() {
    let shipped = std::fs::read_to_string(repository().join("presets.toml")).expect("presets.toml");
    let limits =
        "[gates.proxy]\ngrants = [\"servers\", \"models\", \"artifacts\", \"catalog\"]\nlimits = { time = ";
    assert!(shipped.contains(&format!("{limits}\"5 min\"")), "the shipped block");
    let shipped = shipped.replace(&format!("{limits}\"5 min\""), &format!("{limits}\"10 s\""));
    let blocks = child("hangs", &["start=never"], "") + &child("mute", &[], "");
    let place = Place::with(&(shipped + &blocks), &SHIPPED);
    let mut client = Client::start(&place, "proxy");
    for (server, tool) in [("hangs", "echo"), ("mute", "never")] {
        let call = json!({"server": server, "tool": tool, "arguments": {}});
        let error = text_of(&client.call("call_tool", call));
        assert!(error.contains(&format!("server '{server}' did not answer")), "{error}");
        assert!(!error.contains("gate 'proxy' was stopped"), "{error}");
    }
}

#[test]
fn what_a_client_gives_up_is_given_up_at_the_server() {
    let place = recording(&[]);
    let mut client = Client::start(&place, "all");
    let id = client.ask("tools/call", json!({"name": "s__never", "arguments": {}}));
    let start = Instant::now();
    let waited = |line: &str| {
        while recorded(&place, line) == 0 {
            assert!(start.elapsed() < PATIENCE, "no '{line}'");
            std::thread::yield_now();
        }
    };
    waited("tools/call never");
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    waited("notifications/cancelled");
    assert_eq!(client.text("s__echo", json!({"text": "on"})), "on");
}

#[test]
fn what_is_no_message_is_passed_over_and_a_flood_of_complaints_holds_up_nothing() {
    let place = recording(&[]);
    let mut client = Client::start(&place, "all");
    assert_eq!(client.text("s__noise", json!({})), "after the noise");
    assert_eq!(client.text("s__flood", json!({})), "dry again");
    assert_eq!(recorded(&place, "start"), 1);
}

#[test]
fn a_reply_that_is_larger_than_any_may_be_is_a_fault_and_the_host_lives() {
    let http = Listening::start("http", &[]);
    let json = Listening::start("http", &["json=yes"]);
    let sse = Listening::start("sse", &[]);
    let blocks = [
        child("pipes", &[], ""),
        http.block("http", "http"),
        json.block("json", "http"),
        sse.block("sse", "sse"),
    ];
    let place = showing(&["pipes", "http", "json", "sse"], &blocks.concat());
    let mut client = Client::start(&place, "all");
    for server in ["pipes", "http", "json", "sse"] {
        let error = client.fails(&format!("{server}__large"), json!({"megabytes": 64}));
        assert!(error.contains(&format!("'{server}'")), "{server}: {error}");
        assert_eq!(client.text(&format!("{server}__echo"), json!({"text": "well"})), "well");
    }
}

#[test]
fn one_that_hangs_or_ends_at_its_start_takes_no_other_with_it() {
    let blocks = [
        child("mute", &["start=never"], "preconnect = true"),
        child("dead", &["start=exit"], ""),
        child("well", &[], ""),
    ];
    let settings = "[proxy]\nconnection_timeout = 1\nmax_connection_retries = 0\n";
    let place = showing(&["mute", "dead", "well"], &format!("{settings}{}", blocks.concat()));
    let mut client = Client::start(&place, "all");
    assert_eq!(client.text("well__echo", json!({"text": "hello"})), "hello");
    assert!(client.tools().iter().all(|tool| tool.starts_with("well__")));
    let log = client.log_with("the licence of this server has ended");
    assert!(log.contains("dead"), "{log}");
}

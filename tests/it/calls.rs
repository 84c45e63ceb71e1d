//! `gatehouse calls` lists single calls of all hosts, also refused ones, shows one with its times, and follows new ones.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use crate::support::{Client, Place, host::PATIENCE};

fn place(more: &str) -> Place {
    Place::with(&format!("[presets.p]\ngates.echo = {{}}\n{more}"), &["echo"])
}

/// Waits until this many calls are listed, which hosts write within about a second.
fn listed(place: &Place, arguments: &[&str], count: usize) -> Vec<Value> {
    let start = Instant::now();
    loop {
        let calls = place.run(&[&["calls", "--json"], arguments].concat()).json();
        let calls = calls.as_array().expect("a list").clone();
        if calls.len() == count {
            return calls;
        }
        assert!(start.elapsed() < PATIENCE, "{arguments:?}: {calls:?}");
    }
}

#[test]
fn calls_of_all_hosts_are_listed_and_one_is_shown_with_its_times() {
    let place = place("");
    assert_eq!(place.run(&["calls"]).stdout(), "No call matches.\n");
    let (mut one, mut other) = (Client::start(&place, "p"), Client::start(&place, "p"));
    one.text("echo", json!({"text": "here"}));
    other.fails("echo", json!({"text": 7}));
    let calls = listed(&place, &[], 2);
    let call = calls.iter().find(|call| call["outcome"] == "ok").expect("a call");
    assert_eq!(
        (&call["tool"], &call["principal"], &call["client"], &call["refused"], &call["preset"]),
        (&json!("echo"), &json!("local"), &json!("test 1"), &json!(false), &json!("p"))
    );
    let (total, took) = (call["total_us"].as_u64().unwrap(), call["took_us"].as_u64().unwrap());
    assert!(total >= took && took > 0, "{call}");
    let refused = listed(&place, &["--outcome", "failed"], 1).remove(0);
    assert_eq!((&refused["outcome"], &refused["refused"]), (&json!("invalid-arguments"), &json!(true)));
    assert_eq!(listed(&place, &["--tool", "e*", "--source", "echo", "--since", "1h"], 2).len(), 2);
    let id = call["id"].as_str().expect("an id");
    let shown = place.run(&["calls", id]).stdout();
    for line in
        ["tool          echo of gate 'echo', preset p", "by            local test 1", "in the tool   "]
    {
        assert!(shown.contains(line), "{shown}");
    }
    let shown = place.run(&["calls", refused["id"].as_str().expect("an id")]).stdout();
    assert!(shown.contains("in the tool   did not run") && shown.contains("error "), "{shown}");
    let bodies = place.run(&["calls", id, "--bodies"]);
    assert_eq!(bodies.code(), 1);
    assert!(bodies.stderr().contains("are not stored. With bodies = true under [ledger]"));
    let csv = place.run(&["calls", "--csv"]).stdout();
    assert!(csv.starts_with("time,id,principal,client,") && csv.lines().count() == 3, "{csv}");
    let table = place.run(&["calls"]).stdout();
    assert!(table.starts_with("TIME") && table.contains(id), "{table}");
}

#[test]
fn arguments_and_reply_are_stored_if_the_file_says_so_and_each_reading_is_in_the_audit() {
    let place = place("[ledger]\nbodies = true\n[audit]\nenabled = true\n");
    let mut client = Client::start(&place, "p");
    client.text("echo", json!({"text": "Bearer abc \u{202e}def"}));
    let id = listed(&place, &[], 1)[0]["id"].as_str().expect("an id").to_owned();
    assert!(!place.run(&["calls", &id]).stdout().contains("arguments"));
    let shown = place.run(&["calls", &id, "--bodies"]).stdout();
    assert!(shown.contains("arguments     {\"text\":\"Bearer [redacted] "), "{shown}");
    assert!(shown.contains("\nreply\nBearer [redacted] ") && !shown.contains('\u{202e}'), "{shown}");
    let shown = place.run(&["calls", &id, "--bodies", "--json"]).json();
    assert_eq!(shown["bodies"]["reply"], "Bearer [redacted] \u{202e}def", "{shown}");
    let audit = place.run(&["audit", "search", "--json"]).json().to_string();
    assert_eq!(audit.matches(&format!("read arguments and reply of call {id}")).count(), 2, "{audit}");
    place.write("presets.toml", "[presets.p]\ngates.echo = {}\n[ledger]\nbodies = true\n");
    let refused = place.run(&["calls", &id, "--bodies"]);
    assert!(refused.stderr().contains("bodies needs the audit: set enabled = true under [audit]"));
}

#[test]
fn wrong_arguments_and_a_ledger_that_is_off_are_named() {
    let place = place("");
    let unknown = place.run(&["calls", "019ad6c1-0f3b-7c52-9b0e-5a1f0c6de7b2"]);
    assert_eq!(unknown.code(), 1);
    assert!(unknown.stderr().contains("unknown call '019ad6c1-"), "{}", unknown.stderr());
    let outcome = place.run(&["calls", "--outcome", "timeout"]);
    assert_eq!(outcome.code(), 2);
    assert!(outcome.stderr().contains("unknown outcome 'timeout': expected one of ok, error, "));
    assert!(!place.path("state/ledger.db").exists(), "reading makes no file");
    let off = self::place("[ledger]\nenabled = false\n").run(&["calls"]);
    assert_eq!(off.code(), 1);
    assert!(off.stderr().contains("set enabled = true under [ledger]"), "{}", off.stderr());
}

#[test]
fn calls_are_followed_as_they_end() {
    struct Following(Child);
    impl Drop for Following {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let place = place("");
    let mut client = Client::start(&place, "p");
    client.text("echo", json!({"text": "first"}));
    listed(&place, &[], 1);
    let mut command = place.command(&["calls", "--follow", "--json"]);
    let mut child = Following(command.stdout(Stdio::piped()).spawn().expect("run gatehouse"));
    let mut lines = BufReader::new(child.0.stdout.take().expect("stdout")).lines();
    let mut next =
        || -> Value { serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON") };
    let first = next();
    client.text("echo", json!({"text": "second"}));
    let second = next();
    assert!(first["number"].as_i64() < second["number"].as_i64(), "{first} {second}");
}

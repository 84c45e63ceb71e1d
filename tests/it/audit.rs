//! The audit and quotas through the binary: what a host records, what the commands show, and what outlives a restart.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, Place};

fn place() -> Place {
    let settings = "[presets.p]\ngates.echo = {}\n[audit]\nenabled = true\nreads = true\n[quotas.few]\nwho = [\"local\"]\n\
        calls = \"3 per day\"\n";
    Place::with(settings, &["echo"])
}

fn entries(place: &Place, more: &[&str]) -> Vec<Value> {
    let arguments = [&["audit", "search", "--json"], more].concat();
    place.run(&arguments).json().as_array().cloned().unwrap_or_default()
}

#[test]
fn calls_are_recorded_and_held_to_a_quota_over_a_restart() {
    let place = place();
    let none = place.run(&["audit", "verify"]);
    assert!(none.stderr().contains("there is no audit yet"), "{}", none.stderr());
    let mut client = Client::start(&place, "p");
    for said in ["one", "two"] {
        assert_eq!(client.text("echo", json!({"text": said})), said);
    }
    let third = client.call("echo", json!({"text": "secret-three"}));
    assert_eq!(third["content"][0]["text"], "secret-three");
    let note = third["content"][1]["text"].as_str().expect("a note");
    assert!(note.starts_with("[quota 'few': 100 % of 3 calls per day used; resets at 2"), "{note}");
    assert_eq!(client.close(), Some(0));
    let mut client = Client::start(&place, "p");
    let refused = client.call("echo", json!({"text": "four"}));
    let text = refused["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("quota 'few' is used up: 3 calls per day"), "{text}");
    assert_eq!(client.close(), Some(0));
    let outcomes: Vec<Value> =
        entries(&place, &["--tool", "ech*"]).iter().map(|one| one["outcome"].clone()).collect();
    assert_eq!(outcomes, ["ok", "ok", "ok", "exhausted"]);
    let refused = entries(&place, &["--outcome", "exhausted"]);
    assert_eq!((&refused[0]["principal"], &refused[0]["preset"]), (&json!("local"), &json!("p")));
    assert!(refused[0]["rule"].as_str().is_some_and(|rule| rule.contains("quota 'few'")), "{refused:?}");
    assert_eq!(place.run(&["principals", "show", "local", "--json"]).json()["quotas"][0]["calls"], 3);
    let file = fs::read(place.path("state/audit.db")).expect("the audit");
    assert!(!file.windows(12).any(|window| window == b"secret-three"), "arguments are not recorded");
    assert_eq!(place.run(&["audit", "verify"]).code(), 0);
}

#[test]
fn an_erased_principal_is_anonymous_and_a_changed_file_is_found() {
    let place = place();
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("echo", json!({"text": "one"})), "one");
    assert_eq!(client.close(), Some(0));
    assert_eq!(place.run(&["principals", "erase", "local"]).code(), 2, "there is no terminal to ask");
    let erased = place.run(&["principals", "erase", "local", "--yes"]);
    assert!(erased.stdout().contains("its use of quotas and its key in the audit"), "{}", erased.stdout());
    assert_eq!(entries(&place, &["--tool", "echo"])[0]["principal"], Value::Null);
    let verified = place.run(&["audit", "verify"]).stdout();
    let digest = verified.trim().rsplit(' ').next().expect("a digest").to_owned();
    assert_eq!(place.run(&["audit", "verify", "--contains", &digest]).code(), 0);
    assert_eq!(place.run(&["audit", "verify", "--contains", "00"]).code(), 1);
    let path = place.path("state/audit.db");
    let mut bytes = fs::read(&path).expect("the audit");
    let at = bytes.windows(4).position(|window| window == b"echo").expect("the tool");
    bytes[at] ^= 1;
    fs::write(&path, bytes).expect("written");
    let broken = place.run(&["audit", "verify"]);
    assert_eq!(broken.code(), 1);
    assert!(broken.stderr().contains("the audit is broken at entry 1"), "{}", broken.stderr());
}

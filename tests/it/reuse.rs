//! `instance = "reuse"`: one instance serves successive calls, with the same guarantees.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Client, Place};

fn host(block: &str, presets: &str) -> (Place, Client) {
    let presets = format!("[gates.keeper]\n{block}\n\n[presets.p]\ngates.keeper = {{}}\n{presets}");
    let place = Place::with(&presets, &["keeper"]);
    let client = Client::start(&place, "p");
    (place, client)
}

fn counts(client: &mut Client, calls: usize) -> Vec<String> {
    (0..calls).map(|_| client.text("count", json!({}))).collect()
}

#[test]
fn an_instance_is_fresh_unless_the_file_says_otherwise() {
    let (_place, mut fresh) = host("", "");
    assert_eq!(counts(&mut fresh, 3), ["1", "1", "1"]);
    let (_place, mut fresh) = host("instance = \"fresh\"", "");
    assert_eq!(counts(&mut fresh, 2), ["1", "1"]);
    let (place, mut warm) = host("instance = \"reuse\"", "");
    assert_eq!(counts(&mut warm, 3), ["1", "2", "3"]);
    assert_eq!(place.run(&["gates", "inspect", "keeper", "--json"]).json()["instance"], "reuse");
}

#[test]
fn a_call_that_does_not_return_takes_its_instance_with_it() {
    let (_place, mut client) = host("instance = \"reuse\"\nlimits = { memory = \"32 MiB\" }", "");
    assert_eq!(counts(&mut client, 2), ["1", "2"]);
    assert!(client.fails("trap", json!({})).contains("on purpose"));
    assert_eq!(counts(&mut client, 2), ["1", "2"]);
    client.text("mutter", json!({}));
    let text = client.fails("trap", json!({}));
    assert!(text.contains("on purpose") && !text.contains("muttered"), "{text}");
    // A fault that the gate returns does not end the instance.
    assert_eq!(counts(&mut client, 1), ["1"]);
    client.fails("read_file", json!({"path": "/nowhere"}));
    assert_eq!(counts(&mut client, 1), ["2"]);
    // An instance with more than half of its memory in use is not reused.
    client.text("hoard", json!({}));
    assert_eq!(counts(&mut client, 1), ["1"]);
}

#[test]
fn a_call_that_was_given_up_takes_its_instance_with_it() {
    let presets = "[gates.vices]\ninstance = \"reuse\"\nlimits = { time = \"60 s\", concurrency = 1 }\n\
                   [presets.p]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("well_behaved", json!({})), "fine");
    for vice in ["vice_loop", "vice_sleep"] {
        let id = client.ask("tools/call", json!({"name": vice, "arguments": {}}));
        client.send(
            &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
        );
        assert_eq!(client.text("well_behaved", json!({})), "fine");
    }
}

#[test]
fn the_deadline_is_each_calls_own() {
    let presets = "[gates.vices]\ninstance = \"reuse\"\nlimits = { time = \"500 ms\" }\n\
                   [presets.p]\ngates.vices = {}\n";
    let place = Place::with(presets, &["vices"]);
    let mut client = Client::start(&place, "p");
    for _ in 0..2 {
        for _ in 0..20 {
            assert_eq!(client.text("nap", json!({})), "rested");
        }
        assert!(client.fails("vice_loop", json!({})).contains("stopped after 0.5 s"));
    }
}

#[test]
fn nothing_is_lost_among_many_calls_at_once() {
    let (_place, mut client) = host("instance = \"reuse\"", "");
    let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
    for _ in 0..8 {
        let ids: Vec<u64> =
            (0..16).map(|_| client.ask("tools/call", json!({"name": "count", "arguments": {}}))).collect();
        for id in ids {
            let answer = client.answer(id);
            let text = answer["result"]["content"][0]["text"].as_str().expect("a count").to_owned();
            *seen.entry(text.parse().expect("a number")).or_default() += 1;
        }
    }
    assert_eq!(seen.values().sum::<usize>(), 128);
    // Each instance counts 1, 2, 3, …, so each number occurs at most as often as the one before.
    let steps: Vec<usize> = (1..=128).map(|n| seen.get(&n).copied().unwrap_or_default()).collect();
    assert!(steps.windows(2).all(|pair| pair[0] >= pair[1]), "{seen:?}");
    assert!(steps[1] > 0, "some instance served twice: {seen:?}");
}

#[test]
fn presets_share_instances_and_keep_their_parameters() {
    let presets = "[gates.keeper]\ninstance = \"reuse\"\ngrants = [\"kv\"]\n\
                   [presets.a]\ngates.keeper = { label = \"a\" }\n[presets.b]\ngates.keeper = { label = \"b\" }\n";
    let place = Place::with(presets, &["keeper"]);
    let http = crate::support::Http::start(&place, "a", &[]);
    let (a, b) = (http.session("/mcp/p/a", &[]), http.session("/mcp/p/b", &[]));
    let count = |preset: &str, session: &str| {
        let call = json!({"name": "count", "arguments": {}});
        let answer = http.request(&format!("/mcp/p/{preset}"), session, "tools/call", call);
        answer["result"]["content"][0]["text"].clone()
    };
    let counted: Vec<Value> = vec![count("a", &a), count("b", &b), count("a", &a)];
    assert_eq!(counted, ["a1", "b2", "a3"]);
}

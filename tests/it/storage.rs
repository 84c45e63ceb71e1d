//! The key-value store of gates (`kv`): values outlive calls and hosts, and each gate sees only its own.

use serde_json::{Value, json};

use crate::support::{Client, Http, Place, fault_of};

const ONE: &str = "[gates.keeper]\ngrants = [\"kv\"]\n\n[presets.p]\ngates.keeper = {}\n";

#[test]
fn a_value_outlives_the_host_even_one_that_is_killed() {
    let place = Place::with(ONE, &["keeper"]);
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("recall", json!({"name": "k"})), "nothing");
    assert_eq!(client.text("keep", json!({"key": "k", "value": "first"})), "kept");
    assert_eq!(client.text("recall", json!({"name": "k"})), "first");
    assert_eq!(client.close(), Some(0));

    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("recall", json!({"name": "k"})), "first");
    assert_eq!(client.text("keep", json!({"key": "k", "value": "second"})), "kept");
    drop(client);

    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("recall", json!({"name": "k"})), "second");
    assert_eq!(client.text("kept", json!({"name": ""})), "k");
    assert_eq!(client.text("forget", json!({"name": "k"})), "true");
    assert_eq!(client.text("forget", json!({"name": "k"})), "false");
    assert_eq!(client.text("keep", json!({"key": "gone", "value": "x", "ttl_ms": 0})), "kept");
    assert_eq!(client.text("recall", json!({"name": "gone"})), "nothing");
}

#[test]
fn two_hosts_share_a_data_folder() {
    let place = Place::with(ONE, &["keeper"]);
    let (mut one, mut two) = (Client::start(&place, "p"), Client::start(&place, "p"));
    for n in 0..10 {
        let value = n.to_string();
        assert_eq!(one.text("keep", json!({"key": "from one", "value": value})), "kept");
        assert_eq!(two.text("recall", json!({"name": "from one"})), value);
        assert_eq!(two.text("keep", json!({"key": format!("two {n}"), "value": value})), "kept");
    }
    assert_eq!(one.text("kept", json!({"name": "two "})).split(" two").count(), 10);
}

#[test]
fn gates_do_not_see_each_other_though_they_are_one_file() {
    let presets = "[gates.mine]\ncomponent = \"gates/keeper.wasm\"\ngrants = [\"kv\"]\n\
                   [gates.yours]\ncomponent = \"gates/keeper.wasm\"\ngrants = [\"kv\"]\n\
                   [presets.mine]\ngates.mine = {}\n[presets.yours]\ngates.yours = {}\n";
    let place = Place::with(presets, &["keeper"]);
    let (mut mine, mut yours) = (Client::start(&place, "mine"), Client::start(&place, "yours"));
    mine.text("keep", json!({"key": "k", "value": "mine"}));
    assert_eq!(yours.text("recall", json!({"name": "k"})), "nothing");
    assert_eq!(yours.text("kept", json!({"name": ""})), "");
    assert_eq!(yours.text("forget", json!({"name": "k"})), "false");
    assert_eq!(mine.text("recall", json!({"name": "k"})), "mine");
}

#[test]
fn the_quota_is_the_gates_and_names_its_key() {
    let presets =
        "[gates.keeper]\ngrants = [\"kv\"]\nlimits = { kv = \"1 KiB\" }\n\n[presets.p]\ngates.keeper = {}\n";
    let place = Place::with(presets, &["keeper"]);
    let mut client = Client::start(&place, "p");
    client.text("keep", json!({"key": "small", "value": "x", "times": 500}));
    let text = client.fails("keep", json!({"key": "large", "value": "x", "times": 600}));
    assert!(text.contains("gate 'keeper' would store 1110 bytes; its quota is 1024"), "{text}");
    assert!(text.contains("raise limits.kv under [gates.keeper] in presets.toml"), "{text}");
    assert_eq!(client.text("kept", json!({"name": ""})), "small");
    let text = client.fails("keep", json!({"key": "", "value": "x"}));
    assert!(text.contains("A key is 1 to 512 bytes"), "{text}");
}

#[test]
fn without_the_grant_nothing_is_opened() {
    let place = Place::with("[presets.p]\ngates.keeper = {}\n", &["keeper"]);
    let mut client = Client::start(&place, "p");
    for (tool, arguments) in [
        ("recall", json!({"name": "k"})),
        ("keep", json!({"key": "k", "value": "x"})),
        ("forget", json!({"name": "k"})),
        ("kept", json!({"name": ""})),
    ] {
        let result = client.call(tool, arguments);
        let error = fault_of(&result);
        assert_eq!(
            (&error["type"], &error["message"]),
            (&json!("PERMISSION"), &json!("gate 'keeper' has no grant 'kv'"))
        );
        let line = "To allow it, add \"kv\" to grants under [gates.keeper] in presets.toml.";
        assert_eq!(error["suggestion"], line);
    }
    assert!(!place.path("state/kv.db").exists(), "a denied call must not make the store");
    let report = place.run(&["gates", "inspect", "keeper", "--json"]).json();
    assert_eq!(
        (&report["asks"], &report["not_granted"]),
        (&json!(["context", "text", "kv"]), &json!(["kv"]))
    );
}

#[test]
fn a_gate_that_describes_itself_has_no_store_and_no_folder() {
    let presets = "[gates.keeper]\ngrants = [\"kv\"]\n[gates.keeper.folders]\n\"/data\" = { private = true }\n\
                   [presets.p]\ngates.keeper = { peek = true }\n";
    let place = Place::with(presets, &["keeper"]);
    let mut client = Client::start(&place, "p");
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let count = tools.iter().find(|tool| tool["name"] == "count").expect("count");
    let peeked = "store: Err(\"a gate has no access to kv while it describes itself or converts a file\"); folder: false";
    assert_eq!(count["description"], peeked);
    assert!(!place.path("state/kv.db").exists());
}

#[test]
fn keys_of_a_preset_and_of_a_caller_are_apart() {
    let presets =
        "[gates.keeper]\ngrants = [\"kv\"]\n[presets.p]\ngates.keeper = {}\n[presets.q]\ngates.keeper = {}\n";
    let place = Place::with(presets, &["keeper"]);
    let (mut p, mut q) = (Client::start(&place, "p"), Client::start(&place, "q"));
    p.text("keep", json!({"key": "k", "value": "everybody's"}));
    let own = |value: Option<&str>, preset: bool| json!({"key": "k", "value": value, "preset": preset});
    assert_eq!(p.text("own", own(Some("p's"), true)), "p's of k");
    assert_eq!(p.text("own", own(Some("mine"), false)), "mine of k");
    assert_eq!(q.text("own", own(None, true)), "nothing of ");
    assert_eq!(q.text("own", own(None, false)), "nothing of ");
    assert_eq!(q.text("recall", json!({"name": "k"})), "everybody's");

    let token = "0123456789abcdef0123456789abcdef";
    let host = Http::start(&place, "p", &[("GATEHOUSE_TOKEN", token)]);
    let bearer = format!("Bearer {token}");
    let session = host.session("/mcp", &[("authorization", &bearer)]);
    let headers = [("mcp-session-id", session.as_str()), ("authorization", bearer.as_str())];
    let other = |arguments: Value| {
        let params = json!({"name": "own", "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        host.post("/mcp", &request, &headers).2
    };
    assert!(other(own(None, true)).contains("p's of k"), "of one preset");
    assert!(other(own(None, false)).contains("nothing of "), "another caller");
    // A list contains only its own scope, and no key of the gate reaches another scope.
    assert_eq!(p.text("kept", json!({"name": ""})), "k");
    let error = p.fails("recall", json!({"name": "\u{10ffff}c"}));
    assert!(error.contains("begins with U+10FFFF"), "{error}");
    let left: u64 = p.text("remaining", json!({})).parse().expect("milliseconds");
    assert!((1..=30_000).contains(&left), "{left}");
}

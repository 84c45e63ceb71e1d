//! The audit and quotas through the binary: what a host records, what the commands show, and what outlives a restart.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, Http, Place};

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
    for word in ["one", "two"] {
        assert_eq!(client.text("echo", json!({"text": word})), word);
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
    assert_eq!(place.run(&["principals", "show", "local", "--json"]).json()["quotas"][0]["calls"]["used"], 3);
    let quota = &place.run(&["quotas", "--json"]).json()[0];
    assert_eq!((&quota["principal"], &quota["quota"]), (&json!("local"), &json!("few")), "{quota}");
    assert_eq!((&quota["calls"]["of"], &quota["calls"]["per"]), (&json!(3), &json!("day")), "{quota}");
    assert_eq!((&quota["tokens"], &quota["refused_today"]), (&Value::Null, &json!(1)), "{quota}");
    let table = place.run(&["quotas", "--principal", "local"]).stdout();
    assert!(table.contains("local      few    3 of 3 per day  -"), "{table}");
    let unknown = place.run(&["quotas", "--principal", "key:bob"]);
    assert!(
        unknown.code() == 1 && unknown.stderr().contains("unknown principal 'key:bob'"),
        "{}",
        unknown.stderr()
    );
    let status = place.run(&["status"]).stdout();
    assert!(status.contains("quotas     few, local: 3 of 3 calls per day, 1 refused today"), "{status}");
    let file = fs::read(place.path("state/audit.db")).expect("the audit");
    assert!(!file.windows(12).any(|window| window == b"secret-three"), "arguments are not recorded");
    assert_eq!(place.run(&["audit", "verify"]).code(), 0);
}

#[test]
fn resources_and_prompts_count_for_a_quota() {
    let settings = "[presets.p]\ngates.shelf = { shelf = \"fiction\" }\n[quotas.few]\nwho = [\"local\"]\n\
        calls = \"2 per day\"\ntokens = \"1000 per day\"\n";
    let place = Place::with(settings, &["shelf"]);
    let mut client = Client::start(&place, "p");
    let read = |client: &mut Client| client.request("resources/read", json!({"uri": "test://fiction/0"}));
    for _ in 0..2 {
        assert!(
            client.request("resources/list", json!({}))["result"]["resources"].is_array(),
            "lists are free"
        );
        assert!(read(&mut client)["result"]["contents"].is_array());
    }
    let refused = read(&mut client)["error"]["message"].as_str().expect("a message").to_owned();
    assert!(refused.contains("quota 'few' is used up: 2 calls per day"), "{refused}");
    assert_eq!(client.close(), Some(0));
    let used = &place.run(&["principals", "show", "local", "--json"]).json()["quotas"][0];
    assert!(used["calls"]["used"] == 2, "{used}");
    assert!(used["tokens"]["used"].as_u64().is_some_and(|tokens| tokens > 8), "{used}");
    assert_eq!(used["refused_today"], Value::Null, "no audit counts them: {used}");
}

#[test]
fn keys_and_refused_requests_are_recorded() {
    let settings = "[auth]\n[presets.p]\ngates.echo = {}\n[presets.q]\ngates.echo = {}\n";
    let place = Place::with(settings, &["echo"]);
    let key = place.run(&["keys", "create", "ann", "--preset", "p"]).stdout().trim().to_owned();
    let host = Http::start(&place, "p", &[]);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let bearer = format!("Bearer {key}");
    let status = |path: &str, bearer: &str| host.post(path, &message, &[("authorization", bearer)]).0;
    assert_eq!(status("/mcp/p/p", "Bearer ghk_0_0"), 401);
    assert_eq!(status("/mcp/p/q", &bearer), 404);
    assert_eq!(place.run(&["keys", "rotate", "ann"]).code(), 0);
    assert_eq!(place.run(&["keys", "revoke", "ann"]).code(), 0);
    // Entries are stored soon after the reply. The test's time limit ends this.
    let of = |kind: &str| -> Vec<Value> {
        entries(&place, &[]).into_iter().filter(|entry| entry["kind"] == kind).collect()
    };
    while of("refusal").len() < 2 {}
    let facts = |entry: &Value| {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        (text("principal"), text("details"))
    };
    let mut refusals: Vec<_> = of("refusal").iter().map(facts).collect();
    refusals.sort();
    assert_eq!(refusals[0].0, "key:ann");
    assert!(refusals[0].1.starts_with("unknown preset 'q'"), "{refusals:?}");
    assert_eq!(refusals[1], ("unknown".to_owned(), "unknown or revoked API key".to_owned()));
    let mut keys: Vec<_> = of("key").iter().map(facts).collect();
    keys.sort();
    let changes = ["created a key", "revoked a key", "rotated a key"];
    assert_eq!(keys, changes.map(|change| ("key:ann".to_owned(), change.to_owned())));
    assert_eq!(place.run(&["audit", "verify"]).code(), 0, "two processes wrote the chain");
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

//! Several people on one host: what one may do and owns, no other can see, use or end.

mod crowd;
mod exposure;
mod recipe;

use serde_json::{Value, json};

use crate::support::{Http, Place, session::reply_to, text_of};

const PRESETS: &str = r#"
[auth]

[presets.open]
description = "For everybody."
gates.echo = {}

[presets.dev]
description = "For developers."
gates.echo = {}
gates.keeper = {}

[gates.keeper]
grants = ["kv"]

[host]
default_preset = "open"

[[access]]
who = ["group:dev"]
tools = ["*"]

[[access]]
who = ["key:bob"]
presets = ["open"]
tools = ["echo*"]
"#;

/// A person with a key, and a session of one preset.
struct Person<'a> {
    host: &'a Http,
    bearer: String,
    path: &'static str,
    session: String,
}

impl<'a> Person<'a> {
    fn connect(host: &'a Http, key: &str, path: &'static str) -> Self {
        let bearer = format!("Bearer {key}");
        let session = host.session(path, &[("authorization", &bearer)]);
        Self { host, bearer, path, session }
    }

    fn send(&self, session: &str, method: &str, params: Value) -> (u16, String) {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
        let headers = [("authorization", &*self.bearer), ("mcp-session-id", session)];
        let (status, _, body) = self.host.post(self.path, &message, &headers);
        (status, body)
    }

    fn request(&self, method: &str, params: Value) -> Value {
        let (status, body) = self.send(&self.session, method, params);
        assert_eq!(status, 200, "{body}");
        reply_to(7, &body)
    }

    fn call(&self, tool: &str, arguments: Value) -> String {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        match answer.get("error") {
            Some(error) => error["message"].as_str().expect("a message").to_owned(),
            None => text_of(&answer["result"]),
        }
    }

    fn tools(&self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().expect("tools");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }
}

fn place() -> Place {
    Place::with(PRESETS, &["echo", "keeper"])
}

fn key(place: &Place, arguments: &[&str]) -> String {
    let ran = place.run(&[&["keys", "create"], arguments].concat());
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    let key = ran.stdout().trim().to_owned();
    assert!(key.starts_with("ghk_") && !key.contains(char::is_whitespace), "{key}");
    key
}

#[test]
fn each_person_sees_and_calls_only_their_own_tools() {
    let place = place();
    let (ann, bob) = (key(&place, &["ann", "--group", "dev"]), key(&place, &["bob"]));
    let host = Http::start(&place, "open", &[]);
    let developer = Person::connect(&host, &ann, "/mcp/p/dev");
    assert!(developer.tools().iter().any(|tool| tool == "keep"));
    let bob = Person::connect(&host, &bob, "/mcp/p/open");
    let tools = bob.tools();
    assert!(tools.iter().any(|tool| tool == "echo") && !tools.iter().any(|tool| tool == "keep"), "{tools:?}");
    assert_eq!(bob.call("keep", json!({"name": "x", "value": "y"})), "Unknown tool: 'keep'.");
    // A preset that is hidden, and one that does not exist, answer alike.
    let refused = |path: &str| {
        let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/list"});
        let (status, _, body) = host.post(path, &message, &[("authorization", &bob.bearer)]);
        (status, body.replace(path.rsplit('/').next().expect("a name"), "NAME"))
    };
    let (hidden, unknown) = (refused("/mcp/p/dev"), refused("/mcp/p/dex"));
    assert_eq!(hidden, unknown);
    assert_eq!(hidden.0, 404, "{hidden:?}");
}

#[test]
fn a_client_without_a_key_gets_nothing_even_on_loopback() {
    let place = place();
    let host = Http::start(&place, "open", &[("GATEHOUSE_TOKEN", "0123456789abcdef0123456789abcdef")]);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for bearer in [None, Some("Bearer ghk_0_0"), Some("Bearer 0123456789abcdef0123456789abcdef")] {
        let headers: Vec<_> = bearer.iter().map(|bearer| ("authorization", *bearer)).collect();
        let (status, answered, body) = host.post("/mcp", &message, &headers);
        assert_eq!(status, 401, "{bearer:?}: {body}");
        assert!(answered["www-authenticate"].starts_with("Bearer"), "{answered:?}");
    }
}

#[test]
fn a_session_survives_a_restart_for_its_owner_alone() {
    let place = place();
    let (ann, eve) = (key(&place, &["ann", "--group", "dev"]), key(&place, &["eve", "--group", "dev"]));
    let first = Http::start(&place, "open", &[]);
    let session = Person::connect(&first, &ann, "/mcp/p/dev").session;
    drop(first);
    let second = Http::start(&place, "open", &[]);
    let with = |key: &str| {
        let person = Person {
            host: &second,
            bearer: format!("Bearer {key}"),
            path: "/mcp/p/dev",
            session: String::new(),
        };
        person.send(&session, "tools/list", json!({})).0
    };
    assert_eq!((with(&eve), with(&ann), with(&eve)), (404, 200, 404));
}

#[test]
fn a_key_that_is_revoked_stops_while_the_host_runs() {
    let place = place();
    let ann = key(&place, &["ann", "--group", "dev"]);
    let host = Http::start(&place, "open", &[]);
    let person = Person::connect(&host, &ann, "/mcp/p/dev");
    assert_eq!(person.send(&person.session, "tools/list", json!({})).0, 200);
    let ran = place.run(&["keys", "revoke", "ann"]);
    assert_eq!(ran.code(), 0, "{}", ran.stderr());
    // The host looks for changes twice a second. The test's time limit ends this.
    while person.send(&person.session, "tools/list", json!({})).0 != 401 {}
}

#[test]
fn a_rule_that_matches_nothing_is_reported() {
    let mistyped = PRESETS.replace("tools = [\"echo*\"]", "tools = [\"echo*\"]\ndeny = [\"kepe*\"]");
    let place = Place::with(&mistyped, &["echo", "keeper"]);
    let warning = "deny pattern 'kepe*' of this access rule matches no tool that is served.";
    let output = place.run(&["presets", "check"]).stdout();
    assert!(output.contains(warning) && output.contains("presets.toml:"), "{output}");
    let report = place.run(&["presets", "check", "--json"]).json();
    let rules = report.as_array().expect("reports").iter().find(|one| one["access"] == true);
    assert!(rules.is_some_and(|rules| rules["warnings"].to_string().contains(warning)), "{report}");
    let output = self::place().run(&["presets", "check"]).stdout();
    assert!(!output.contains("access rule"), "{output}");
}

#[test]
fn explain_names_the_rule_that_decides() {
    let place = place();
    let explained = |who: &[&str]| {
        let ran = place.run(&[&["explain", "keep", "--preset", "dev", "--as"], who].concat());
        ran.stdout() + &ran.stderr()
    };
    let line = 1 + PRESETS[..PRESETS.find("[[access]]").expect("a rule")].matches('\n').count();
    let allowed = explained(&["key:ann", "--group", "dev"]);
    assert!(allowed.contains(&format!("presets.toml:{line}")), "{allowed}");
    let denied = explained(&["key:bob"]);
    assert!(denied.contains("no rule"), "{denied}");
}

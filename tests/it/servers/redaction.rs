//! A server's credentials are redacted from its replies; all other bytes stay unchanged.

use serde_json::{Value, json};

use super::{Listening, child};
use crate::support::{Client, Place};

const SECRETS: [&str; 4] = ["s3cret-of-env", "s3cret-of-args", "s3cret-of-var", "s3cret-of-url"];

fn seen(block: &str) -> String {
    let place = Place::with(&format!("{block}[presets.all]\nservers = [\"s\"]\n"), &[]);
    let home = place.path("").display().to_string();
    let environment =
        [("ACME_TOKEN", "s3cret-of-var"), ("ACME_REGION", "region-of-var"), ("ACME_HOME", &*home)];
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &environment);
    client.initialize("2025-11-25");
    client.call("s__environment", json!({})).to_string()
}

fn block(more: &str) -> String {
    let options = [
        "attacks=yes",
        "--token",
        "s3cret-of-args",
        "https://h.example/?api_key=s3cret-of-url",
        "${ACME_HOME}",
    ];
    let env = "env = { API_KEY = \"s3cret-of-env\", X = \"${ACME_TOKEN}\", R = \"${ACME_REGION}\" }\n";
    child("s", &options, &format!("{env}{more}"))
}

#[test]
fn credentials_are_redacted_in_every_part_of_a_reply() {
    let seen = seen(&block(""));
    for secret in SECRETS {
        assert!(!seen.contains(secret), "{secret}: {seen}");
    }
    assert!(seen.matches("API_KEY=[redacted]").count() >= 2, "text and resource: {seen}");
    assert!(seen.contains("R=region-of-var"), "{seen}");
}

#[test]
fn a_block_decides_what_is_redacted() {
    let all = seen(&block("redact = false\n"));
    assert!(SECRETS.iter().all(|secret| all.contains(secret)), "{all}");
    let some = seen(&block("redact = [\"ACME_REGION\", \"API_KEY\"]\n"));
    assert!(!some.contains("region-of-var") && !some.contains("s3cret-of-env"), "{some}");
    assert!(some.contains("s3cret-of-var"), "{some}");
    let place =
        Place::with(&format!("{}[presets.all]\nservers = [\"s\"]\n", block("redact = [\"NOPE\"]\n")), &[]);
    let ran = place.run(&["presets", "check"]);
    let output = ran.stdout() + &ran.stderr();
    assert!(output.contains("'NOPE' is not a variable, a header or a key of env of this server"), "{output}");
}

#[test]
fn a_header_that_is_echoed_does_not_come_back() {
    for transport in ["http", "sse"] {
        let server = Listening::start(transport, &["attacks=yes", "s3cret-of-header"]);
        let block =
            server.block("s", transport) + "headers = { Authorization = \"Bearer s3cret-of-header\" }\n";
        let seen = seen(&block);
        assert!(!seen.contains("s3cret-of-header") && seen.contains("[redacted]"), "{transport}: {seen}");
    }
}

#[test]
fn what_a_server_reads_under_a_variable_comes_back_to_the_byte() {
    let tools = json!([{"name": "read", "inputSchema": {"type": "object"}}]).to_string();
    let place = Place::with("", &[]);
    let home = place.path("").display().to_string();
    place.write("tools.json", tools);
    let options = [format!("tools={home}/tools.json"), "${HOME}/notes".into(), "${USER}".into()];
    let options: Vec<_> = options.iter().map(String::as_str).collect();
    place.write("presets.toml", child("s", &options, "") + "[presets.all]\nservers = [\"s\"]\n");
    let user = "somebody-with-a-long-name";
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[("HOME", &home), ("USER", user)]);
    client.initialize("2025-11-25");
    let bytes = format!("{home}/notes of {user} \\u0041 %41 &amp; 12345678 \u{1f600}");
    let reply: Value =
        serde_json::from_str(&client.text("s__read", json!({"reply": {"bytes": bytes}}))).expect("JSON");
    assert_eq!(reply["bytes"], bytes);
}

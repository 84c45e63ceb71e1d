//! A reload never opens a host by accident: an emptied file, and changes that allow more under `[auth]`, wait for
//! `gatehouse presets apply`.

use serde_json::{Value, json};

use crate::support::{Client, Http, Place, http::Response};

const OPEN: &str =
    "[presets.reader]\ngates.echo = {}\ndeny = [\"big\"]\n[host]\ndefault_preset = \"reader\"\n";
const RULE: &str = "[[access]]\nwho = [\"*\"]\ntools = [\"echo\"]\n";

fn place() -> Place {
    Place::with(OPEN, &["echo"])
}

fn guarded() -> Place {
    Place::with(&format!("[auth]\ntoken = true\n{OPEN}{RULE}"), &["echo"])
}

/// Waits until `status` shows a host's reason to wait that contains these words.
fn wait_for_refusal(place: &Place, words: &str) {
    loop {
        let status = place.run(&["status", "--json"]);
        let report: Value = serde_json::from_str(&status.stdout()).expect("JSON");
        let reason = &report["hosts"][0]["health"]["configuration"];
        if reason.as_str().is_some_and(|reason| reason.contains(words)) {
            return;
        }
    }
}

fn start_refused(place: &Place, environment: &[(&str, &str)]) -> String {
    let mut command = place.command(&["serve", "--http", "127.0.0.1:0"]);
    let output = command.envs(environment.iter().copied()).output().expect("run gatehouse");
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn an_emptied_file_keeps_the_last_state() {
    let place = place();
    let host = Http::with(&place, &[], &[]);
    let session = host.session("/mcp", &[]);
    let listed = || host.request("/mcp", &session, "tools/list", json!({}))["result"]["tools"].to_string();
    let before = listed();
    place.write("presets.toml", "");
    host.log_with("the file is empty; to apply the change, run `gatehouse presets apply`");
    assert_eq!(listed(), before);
    let refused = start_refused(&place, &[]);
    assert!(refused.contains("presets.toml: is empty. Restore it"), "{refused}");
    place.write("presets.toml", "[presets.other]\ngates.echo = {}\n");
    host.log_with("does not set default_preset = \"reader\" any more");
    assert_eq!(listed(), before);
    place.write("presets.toml", OPEN.replace("big", "bigger"));
    host.log_with("is in use");
}

#[test]
fn an_edit_that_allows_more_waits_until_it_is_applied() {
    let place = guarded();
    let token = "0123456789abcdef0123456789abcdef";
    let environment = [("GATEHOUSE_TOKEN", token)];
    let bearer = format!("Bearer {token}");
    let host = Http::with(&place, &[], &environment);
    let session = host.session("/mcp", &[("authorization", &bearer)]);
    let listed = || {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let (_, _, body) =
            host.post("/mcp", &message, &[("authorization", &*bearer), ("mcp-session-id", &*session)]);
        body
    };
    let file = format!("[auth]\ntoken = true\n{OPEN}{RULE}");
    place.write("presets.toml", file.replace("deny = [\"big\"]\n", ""));
    wait_for_refusal(&place, "preset 'reader' does not deny \"big\" any more");
    assert!(!listed().contains("\"big\""), "{}", listed());
    place.write("presets.toml", file.replace("\"echo\"", "\"*\""));
    wait_for_refusal(&place, "is gone or allows more");
    place.write("presets.toml", &file[..file.find("[[access]]").expect("a rule")]);
    wait_for_refusal(&place, "is gone or allows more");
    place.write("presets.toml", file.replace("deny = [\"big\"]\n", "").replace("\"echo\"", "\"*\""));
    wait_for_refusal(&place, "gatehouse presets apply");
    let applied = place.run(&["presets", "apply"]);
    assert!(applied.stdout().contains(&format!("process {}", host.pid())), "{}", applied.stdout());
    host.log_with("is in use");
    assert!(listed().contains("\"big\""), "{}", listed());
    // Fewer rights need no confirmation.
    place.write("presets.toml", &file);
    while listed().contains("\"big\"") {}
}

#[test]
fn a_host_that_had_auth_does_not_start_without_it() {
    let place = guarded();
    let environment = [("GATEHOUSE_TOKEN", "0123456789abcdef0123456789abcdef")];
    let host = Http::with(&place, &[], &environment);
    place.write("presets.toml", OPEN);
    wait_for_refusal(&place, "[auth] is gone");
    let Response { status, .. } =
        host.say("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert_eq!(status, 401);
    drop(host);
    let refused = start_refused(&place, &[]);
    assert!(refused.contains("has no [auth], but the last host on this data directory had it"), "{refused}");
    // Rules do not apply over stdio.
    assert_eq!(Client::start(&place, "reader").tools(), ["echo"]);
    assert_eq!(place.run(&["presets", "apply"]).code(), 0);
    Http::with(&place, &[], &[]).session("/mcp", &[]);
}

//! Calls of clients without forms, which wait until a person at the host approves them.

use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
    time::Instant,
};

use serde_json::{Value, json};

use crate::support::{Client, Place, host::PATIENCE, terminal, text_of};

fn place() -> Place {
    let presets = "[presets.all]\ngates.echo = {}\n[presets.all.approve]\ntools = [\"echo\"]\n";
    Place::with(presets, &["echo"])
}

/// Returns the calls that wait, as soon as `is_ready` is true of them.
fn waiting(place: &Place, is_ready: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let start = Instant::now();
    loop {
        let status = place.run(&["status", "--json"]).json();
        let hosts = status["hosts"].as_array().cloned().unwrap_or_default();
        let calls = hosts.iter().flat_map(|host| host["approvals"].as_array().cloned().unwrap_or_default());
        let calls: Vec<Value> = calls.collect();
        if is_ready(&calls) {
            return calls;
        }
        assert!(start.elapsed() < PATIENCE, "{calls:?}");
    }
}

/// Runs `gatehouse approve` in a terminal with these keys, and returns its screen.
fn approve(place: &Place, keys: &str) -> String {
    let (mut typing, screen) = terminal();
    typing.write_all(keys.as_bytes()).expect("typed");
    let mut command = place.command(&["approve"]);
    command.stdin(screen.try_clone().expect("a terminal")).stderr(screen);
    assert!(command.output().expect("run gatehouse").status.success());
    drop(command);
    read_screen(typing)
}

/// Reads what a terminal shows. Its other end is closed, which is an error of reading on Linux.
fn read_screen(mut terminal: File) -> String {
    let (mut screen, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(count @ 1..) = terminal.read(&mut bytes) {
        screen.extend_from_slice(&bytes[..count]);
    }
    String::from_utf8_lossy(&screen).replace('\r', "")
}

fn begin(client: &mut Client, text: &str) -> u64 {
    client.ask("tools/call", json!({"name": "echo", "arguments": {"text": text}}))
}

#[test]
fn a_call_waits_until_a_person_allows_it_at_a_terminal() {
    let place = place();
    let (mut one, mut other) = (Client::start(&place, "all"), Client::start(&place, "all"));
    let (first, second) = (begin(&mut one, "first"), begin(&mut other, "second"));
    let calls = waiting(&place, |calls| calls.len() == 2);
    assert_eq!((&calls[0]["client"], &calls[0]["is_connected"]), (&json!("test"), &json!(true)));
    let status = place.run(&["status"]).stdout();
    assert!(status.contains("'echo' waits for an approval since "), "{status}");
    let ran = place.run(&["approve"]);
    assert_eq!(ran.code(), 2, "there is no terminal");
    assert!(ran.stderr().contains("asks a person, and there is no terminal"), "{}", ran.stderr());
    // An empty line is no answer.
    let screen = approve(&place, "\n\n");
    assert!(screen.contains("No other call waits for an approval."), "{screen}");
    assert!(
        screen.contains("May 'echo' run (echo of gate 'echo', read-only)? Approval applies for this call.")
    );
    assert!(screen.contains("Arguments: {\"text\":\"first\"}"), "{screen}");
    let allowed_first = calls[0]["question"].as_str().expect("a question").contains("first");
    let screen = approve(&place, "y\nn\n");
    assert!(screen.contains("'echo' is allowed.") && screen.contains("'echo' is declined."), "{screen}");
    let answers = [text_of(&one.answer(first)["result"]), text_of(&other.answer(second)["result"])];
    let [allowed, declined] = if allowed_first { ["first", "declined"] } else { ["declined", "second"] };
    assert!(answers[0].contains(allowed) && answers[1].contains(declined), "{answers:?}");
    let start = Instant::now();
    let words = loop {
        let calls = place.run(&["calls", "--json"]).json();
        let words: Vec<Value> =
            calls.as_array().into_iter().flatten().map(|call| call["approval"].clone()).collect();
        if words.len() == 2 {
            break words;
        }
        assert!(start.elapsed() < PATIENCE, "{calls}");
    };
    for word in ["given by the operator", "declined by the operator"] {
        assert!(words.contains(&json!(word)), "{words:?}");
    }
    assert!(approve(&place, "").contains("No call waits for an approval."));
}

#[test]
fn an_approval_for_a_client_that_gave_up_counts_for_the_same_call_once() {
    let place = place();
    let mut client = Client::start(&place, "all");
    let call = begin(&mut client, "late");
    waiting(&place, |calls| calls.len() == 1);
    // What clients without forms do after a minute.
    let params = json!({"requestId": call, "reason": "timeout"});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    waiting(&place, |calls| calls.len() == 1 && calls[0]["is_connected"] == false);
    let screen = approve(&place, "y\n");
    assert!(
        screen.contains("which has given up") && screen.contains("'echo' is allowed, once, if"),
        "{screen}"
    );
    let call = begin(&mut client, "late");
    assert_eq!(text_of(&client.answer(call)["result"]), "late");
    begin(&mut client, "late");
    let again = waiting(&place, |calls| calls.len() == 1).remove(0);
    assert_eq!(again["is_connected"], true);
    // Calls that wait end with their host, and nothing of them runs after a restart.
    drop(client);
    waiting(&place, <[Value]>::is_empty);
    let mut client = Client::start(&place, "all");
    begin(&mut client, "late");
    waiting(&place, |calls| calls.len() == 1);
}

#[test]
fn an_answer_at_the_host_withdraws_the_form_of_the_client() {
    let place = place();
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    client.initialize_with("2025-11-25", json!({"elicitation": {}}));
    let call = begin(&mut client, "either");
    let form = client.next_message();
    assert_eq!(form["method"], "elicitation/create", "{form}");
    approve(&place, "y\n");
    // In either order: the call goes on while the form is withdrawn.
    let messages = [client.next_message(), client.next_message()];
    let withdrawn = messages.iter().find(|message| message["method"] == "notifications/cancelled");
    assert_eq!(withdrawn.expect("a withdrawal")["params"]["requestId"], form["id"]);
    let reply = messages.iter().find(|message| message["id"] == call).expect("a reply");
    assert_eq!(text_of(&reply["result"]), "either");
    let late = json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": {"allow": false}}});
    client.send(&late);
    // A program that declines within a moment is no person.
    let call = begin(&mut client, "program");
    let form = client.next_message();
    client.send(&json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "decline"}}));
    waiting(&place, |calls| calls.len() == 1);
    approve(&place, "y\n");
    assert_eq!(text_of(&client.answer(call)["result"]), "program");
}

#[test]
fn the_desktop_shows_that_a_call_waits() {
    let place = place();
    let shown = place.path("shown");
    let program = place.write(
        "bin/notify-send",
        format!("#!/bin/sh\nprintf '%s|' \"$@\" > {}.new\nmv {0}.new {0}\n", shown.display()),
    );
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
    let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").expect("PATH"));
    let environment = [("PATH", path.as_str()), ("DISPLAY", ":0")];
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &environment);
    client.initialize("2025-11-25");
    begin(&mut client, "secret");
    let start = Instant::now();
    while !shown.exists() {
        assert!(start.elapsed() < PATIENCE, "{}", client.log());
        std::thread::yield_now();
    }
    let arguments = fs::read_to_string(&shown).expect("arguments");
    let expected =
        "--app-name=Gatehouse|--|Gatehouse|A call of echo waits for your approval. Run: gatehouse approve|";
    assert_eq!(arguments, expected);
}

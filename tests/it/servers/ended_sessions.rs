//! Sessions that a server over HTTP ends: what it has not run is sent again, and nothing else.

use std::time::Instant;

use serde_json::json;

use super::{Listening, recorded};
use crate::support::{Client, Place, host::PATIENCE, text_of};

fn started() -> (Place, Listening, Client) {
    let place = Place::with("", &[]);
    let record = format!("record={}", place.path("record").display());
    let server = Listening::start("http", &["features=yes", "sessions=yes", "version=2025-11-25", &record]);
    place.write("presets.toml", server.block("s", "http") + "[presets.all]\nservers = [\"s\"]\n");
    let mut client = Client::start(&place, "all");
    assert_eq!(client.text("s__echo", json!({"text": "connected"})), "connected");
    (place, server, client)
}

#[test]
fn a_call_that_began_a_task_is_not_sent_again() {
    let (place, _server, mut client) = started();
    let error = client.fails("s__task", json!({}));
    assert!(error.contains("server 's' ended the session during the call"), "{error}");
    assert!(error.contains("The call may have taken effect."), "{error}");
    assert_eq!(recorded(&place, "tools/call task"), 1);
    assert_eq!(client.text("s__echo", json!({"text": "next session"})), "next session");
}

#[test]
fn a_running_call_ends_in_its_session_and_subscriptions_go_on_in_the_next() {
    let (place, server, mut client) = started();
    let uri = "gatehouse://server/s/memo://1";
    assert_eq!(client.request("resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    let running = client.ask("tools/call", json!({"name": "s__wait", "arguments": {}}));
    let start = Instant::now();
    while recorded(&place, "tools/call wait") == 0 {
        assert!(start.elapsed() < PATIENCE, "no call");
        std::thread::yield_now();
    }
    server.control("/end-sessions");
    assert_eq!(client.text("s__echo", json!({"text": "next session"})), "next session");
    // The first notification is for what the client may have missed, the second for a change in the next session.
    for count in 1..=2 {
        while client.notifications.iter().filter(|one| one["params"]["uri"] == uri).count() < count {
            let message = client.next_message();
            client.keep(message);
        }
        if count == 1 {
            assert_eq!(client.text("s__change", json!({})), "changed");
        }
    }
    server.control("/release");
    assert_eq!(text_of(&client.answer(running)["result"]), "released");
    assert_eq!(recorded(&place, "tools/call wait"), 1);
    assert_eq!(recorded(&place, "initialize"), 2);
}

#[test]
fn resources_are_listed_in_the_next_session() {
    let (place, server, mut client) = started();
    server.control("/end-sessions");
    let before = recorded(&place, "resources/list");
    let listed = client.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"].as_array().map(Vec::len), Some(2), "{listed}");
    assert!(recorded(&place, "resources/list") > before + 1, "for the connection, and for the client");
    assert_eq!(recorded(&place, "initialize"), 2);
}

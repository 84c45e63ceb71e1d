//! Servers start on demand, and no process outlives its host, however the host ends.

use std::{process::Command, time::Instant};

use serde_json::json;

use super::{child, recording, showing};
use crate::support::{
    Client, Place,
    host::PATIENCE,
    processes::{below, end_all},
};

fn with_leavings(place: &Place) -> Client {
    let mut client = Client::start(place, "all");
    assert_eq!(client.text("s__spawn", json!({})), "left behind");
    // The shells may start their processes only after the answer.
    let start = Instant::now();
    for left in ["sleep 611", "sleep 612", "sleep 613", "server-of-vices"] {
        while !below(client.pid()).values().any(|line| line.contains(left)) {
            assert!(start.elapsed() < PATIENCE, "{left}: {:?}", below(client.pid()));
            std::thread::yield_now();
        }
    }
    client
}

#[test]
fn a_host_that_ends_takes_its_servers_and_what_they_left_along() {
    let place = recording(&[]);
    let client = with_leavings(&place);
    let running = below(client.pid());
    assert_eq!(client.close(), Some(0));
    end_all(&running);
}

#[test]
fn a_host_that_is_killed_takes_them_along_too() {
    let place = recording(&[]);
    let client = with_leavings(&place);
    let running = below(client.pid());
    assert!(running.len() >= 5, "{running:?}");
    let killed = Command::new("kill").args(["-KILL", &client.pid().to_string()]).status().expect("kill");
    assert!(killed.success());
    end_all(&running);
}

#[test]
fn a_server_that_dies_takes_along_what_it_left() {
    let place = recording(&[]);
    let mut client = with_leavings(&place);
    let running = below(client.pid());
    client.fails("s__die", json!({}));
    end_all(&running);
    assert_eq!(client.text("s__echo", json!({"text": "again"})), "again");
}

#[test]
fn a_server_gets_nothing_of_the_environment_but_what_is_named() {
    let shell = |name: &str, env: &str| {
        format!("[servers.{name}]\ncommand = \"sh\"\nargs = [\"-c\", \"env >&2; exit 5\"]\nenv = {env}\n")
    };
    let block = shell("s", "{ NAMED = \"${GATEHOUSE_TEST_KEY}\" }");
    let place =
        showing(&["s", "t"], &format!("[proxy]\nmax_connection_retries = 0\n{block}{}", child("t", &[], "")));
    let given = [("GATEHOUSE_TEST_KEY", "given-5ecret"), ("OTHER", "kept-for-the-host")];
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &given);
    client.initialize("2025-11-25");
    assert_eq!(client.text("t__echo", json!({"text": "well"})), "well");
    let log = client.log_with("server 's'");
    assert!(!log.contains("kept-for-the-host"), "{log}");
    assert!(!log.contains("given-5ecret"), "values of variables are not logged: {log}");
}

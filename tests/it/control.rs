//! Running hosts are asked at their control sockets: one that hangs is reported, and one that was killed is gone.

use std::process::Command;

use serde_json::Value;

use crate::support::{Client, Place};

fn signal(client: &Client, name: &str) {
    let done = Command::new("kill").args([name, &client.pid().to_string()]).status();
    assert!(done.expect("kill").success());
}

fn hosts(place: &Place) -> Vec<Value> {
    place.run(&["status", "--json"]).json()["hosts"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_host_that_hangs_is_reported_and_one_that_was_killed_is_gone() {
    let place = Place::with("[presets.p]\ngates.echo = {}\n", &["echo"]);
    let mut client = Client::start(&place, "p");
    assert!(client.tools().contains(&"echo".to_owned()));
    while hosts(&place).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(hosts(&place)[0]["preset"], "p");
    signal(&client, "-STOP");
    let hangs = hosts(&place);
    let reason = hangs[0]["silent"].as_str().expect("a reason");
    assert!(reason.starts_with("does not answer on ") && reason.ends_with("within 3 s"), "{reason}");
    assert_eq!(hangs[0]["pid"], client.pid());
    let text = place.run(&["status"]).stdout();
    assert!(text.contains(&format!("process {}: does not answer on ", client.pid())), "{text}");
    // A restore must not replace files that this host has open.
    assert_eq!(place.run(&["keys", "create", "ann"]).code(), 0);
    assert_eq!(place.run(&["backup", "state.gatehouse"]).code(), 0);
    let refused = place.run(&["restore", "state.gatehouse", "--force"]);
    assert!(refused.code() != 0 && refused.stderr().contains(&format!("process {}", client.pid())));
    signal(&client, "-CONT");
    assert_eq!(hosts(&place)[0]["silent"], Value::Null);
    signal(&client, "-KILL");
    while !hosts(&place).is_empty() {}
    let files = std::fs::read_dir(place.path("state/hosts")).expect("sockets").count();
    assert_eq!(files, 0, "the next command cleans up");
}

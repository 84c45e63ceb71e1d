//! The ledger of calls: counts are correct across hosts and kills, calls never fail because of it, and write errors are
//! reported.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::support::{Client, Place, host::PATIENCE};

fn place(more: &str) -> Place {
    Place::with(&format!("[presets.p]\ngates.echo = {{}}\n{more}"), &["echo"])
}

fn echo(place: &Place) -> Value {
    let report = place.run(&["tools", "metrics", "echo", "echo", "--json"]).json();
    report["metrics"].get(0).cloned().unwrap_or_default()
}

fn call(client: &mut Client, times: usize) {
    for n in 0..times {
        let text = n.to_string();
        assert_eq!(client.text("echo", json!({"text": text})), text);
    }
}

#[test]
fn two_hosts_on_one_folder_count_right() {
    let place = place("");
    let (mut one, mut other) = (Client::start(&place, "p"), Client::start(&place, "p"));
    for _ in 0..10 {
        call(&mut one, 5);
        call(&mut other, 5);
    }
    assert_eq!((one.close(), other.close()), (Some(0), Some(0)));
    let metrics = echo(&place);
    assert_eq!(
        (&metrics["call_count"], &metrics["success_rate"], &metrics["kind"]),
        (&json!(100), &json!(1.0), &json!("gate"))
    );
}

#[test]
fn a_host_that_is_killed_loses_nothing_that_was_counted() {
    let place = place("");
    let mut counted = 0;
    for round in 0..4 {
        let mut client = Client::start(&place, "p");
        call(&mut client, 20);
        let start = std::time::Instant::now();
        // Calls are written within about a second; later calls may be lost with the host.
        while echo(&place)["call_count"].as_u64().unwrap_or_default() < counted + 20 {
            assert!(start.elapsed() < PATIENCE, "round {round}: {}", echo(&place));
        }
        call(&mut client, round * 7);
        drop(client);
        let now = echo(&place)["call_count"].as_u64().expect("calls");
        assert!((counted + 20..=counted + 20 + round as u64 * 7).contains(&now), "round {round}: {now}");
        counted = now;
    }
}

#[test]
fn switched_off_it_writes_nothing_and_says_so() {
    let place = place("[ledger]\nenabled = false\n");
    let mut client = Client::start(&place, "p");
    call(&mut client, 3);
    assert_eq!(client.close(), Some(0));
    assert!(!place.path("state/ledger.db").exists());
    let output = place.run(&["tools", "metrics"]);
    assert!(
        output.stdout().starts_with("Calls are not recorded: enabled = false under [ledger]"),
        "{}",
        output.stdout()
    );
    assert_eq!(place.run(&["tools", "metrics", "--json"]).json()["enabled"], false);
    assert!(place.run(&["status"]).stdout().contains("\nledger     off: enabled = false"));
}

#[test]
fn a_newer_database_costs_no_call_and_is_reported_in_the_log_and_by_status() {
    let place = place("");
    let mut client = Client::start(&place, "p");
    call(&mut client, 1);
    assert_eq!(client.close(), Some(0));
    // SQLite stores the schema version in four bytes at offset 60.
    let path = place.path("state/ledger.db");
    let mut database = fs::read(&path).expect("the database");
    database[60..64].copy_from_slice(&999_u32.to_be_bytes());
    fs::write(&path, &database).expect("write it");

    let mut client = Client::start(&place, "p");
    call(&mut client, 5);
    client.log_with("cannot record calls in the ledger; calls continue: the ledger at");
    let start = std::time::Instant::now();
    let lost = |status: &Value| status["hosts"][0]["ledger"]["lost"].as_u64();
    loop {
        let status = place.run(&["status", "--json"]).json();
        if lost(&status) == Some(5) {
            assert_eq!(status["ledger"]["ok"], false, "{status}");
            break;
        }
        assert!(start.elapsed() < PATIENCE, "{status}");
    }
    let text = place.run(&["status"]).stdout();
    assert!(text.contains("5 calls are missing from the ledger"), "{text}");
    assert!(text.contains("\nledger     down: the ledger at"), "{text}");
    assert_eq!(client.close(), Some(0));
    assert_eq!(fs::read(&path).expect("the database"), database, "it is not touched");
}

/// Starts a host in its own mount namespace after `before` ran in `sh`. `None` if the system does not allow that.
fn confined(place: &Place, before: &str) -> Option<Client> {
    let mut confined = Command::new("unshare");
    confined.args(["--map-root-user", "--mount", "sh", "-c"]);
    let mut tried = Command::new(confined.get_program());
    tried.args(confined.get_args()).arg("mount -t tmpfs none /mnt");
    if !tried.status().is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none(), "no disk of our own can be made");
        eprintln!("SKIPPED: `unshare --map-root-user --mount` does not work here");
        return None;
    }
    let command = place.command(&["serve", "--preset", "p"]);
    confined
        .arg(format!("{before} && exec \"$0\" \"$@\""))
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => confined.env(name, value),
            None => confined.env_remove(name),
        };
    }
    confined.current_dir(place.path(""));
    let mut client = Client::spawn(confined);
    client.initialize("2025-11-25");
    Some(client)
}

#[test]
fn a_disk_that_is_full_costs_no_call() {
    let place = place("");
    let room =
        "mkdir -p state && mount -t tmpfs -o size=64k none state && head -c 60000 /dev/zero > state/filling";
    let Some(mut client) = confined(&place, room) else { return };
    call(&mut client, 20);
    client.log_with("cannot record calls in the ledger; calls continue: the ledger at");
    call(&mut client, 20);
    assert_eq!(client.close(), Some(0));
}

#[test]
fn a_folder_that_cannot_be_written_costs_no_call() {
    let place = place("");
    let room = "mkdir -p state && mount -t tmpfs -o ro none state";
    let Some(mut client) = confined(&place, room) else { return };
    call(&mut client, 20);
    client.log_with("cannot record calls in the ledger; calls continue: the ledger at");
    call(&mut client, 20);
    assert_eq!(client.close(), Some(0));
}

//! Only the owner can read the data folder and its databases, regardless of the command that creates them.

#![cfg(unix)]

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::json;

use crate::support::{Client, Http, Place};

const PRESETS: &str = "\
[gates.keeper]
grants = [\"kv\"]
[presets.full]
gates.keeper = {}
";

fn place() -> Place {
    Place::with(PRESETS, &["keeper"])
}

fn open_to_all(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", "umask 022 && exec \"$0\" \"$@\""]).arg(command.get_program()).args(command.get_args());
    shell.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.current_dir(command.get_current_dir().expect("a folder"));
    shell
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode()
        & 0o777
}

fn check(place: &Place, what: &str, wanted: &[&str]) {
    let state = place.path("state");
    assert_eq!(mode(&state), 0o700, "{what}");
    for name in wanted {
        assert!(state.join(name).exists(), "{what}: no {name}");
    }
    for entry in fs::read_dir(&state).expect("the data folder").flatten() {
        let path = entry.path();
        if path.is_file() {
            assert_eq!(mode(&path), 0o600, "{what}: {}", path.display());
        }
    }
}

#[test]
fn whichever_command_comes_first() {
    for arguments in [
        &["kg", "index", "wiki"][..],
        &["kg", "search", "retry"],
        &["status"],
        &["doctor"],
        &["gates", "list"],
    ] {
        let place = place();
        place.sample_wiki();
        let output = open_to_all(&place.command(arguments)).output().expect("run gatehouse");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        if place.path("state").exists() {
            check(&place, &arguments.join(" "), &[]);
        }
    }
}

#[test]
fn a_host_over_stdio_makes_them_private() {
    let place = place();
    let command = place.command(&["serve", "--preset", "full"]);
    let mut client = Client::spawn(open_to_all(&command));
    client.initialize("2025-11-25");
    client.tools();
    // Hosts write their status shortly after the start.
    while !place.path("state/hosts").exists() {
        std::thread::yield_now();
    }
    check(&place, "serve", &[]);
    client.text("keep", json!({"key": "a", "value": "b"}));
    // SQLite's write-ahead log and shared memory are next to the database.
    check(&place, "serve", &["kv.db", "kv.db-wal", "kv.db-shm"]);
}

#[test]
fn a_host_over_http_makes_them_private() {
    let place = place();
    let _host = Http::start(&place, "full", &[]);
    while !place.path("state/hosts").exists() {
        std::thread::yield_now();
    }
    check(&place, "serve --http", &[]);
}

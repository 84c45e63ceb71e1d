//! `gatehouse status --watch` in a terminal.

use std::{
    io::{Read, Write},
    process::{Command, Stdio},
};

use serde_json::json;

use crate::support::{Client, Place, binary};

#[test]
fn a_terminal_shows_calls_as_they_come_until_ctrl_c() {
    let place = Place::with("[presets.p]\ngates.echo = {}\n", &["echo"]);
    let mut client = Client::start(&place, "p");
    let mut command = Command::new("script");
    command
        .args(["-qefc", &format!("{} status --watch 1", binary().display()), "/dev/null"])
        .current_dir(place.path(""))
        .env_clear()
        .env("HOME", place.path(""))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("TERM", "xterm")
        .env("GATEHOUSE_STATE", place.path("state"))
        .env("GATEHOUSE_CONFIG", place.path("presets.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut watching = command.spawn().expect("`script` of util-linux");
    let mut screen = watching.stdout.take().expect("its screen");
    let mut shown = String::new();
    let mut until = |words: &str| {
        let mut bytes = [0; 4096];
        while !shown.contains(words) {
            let count = screen.read(&mut bytes).expect("its output");
            assert!(count > 0, "it ended before it showed '{words}': {shown}");
            shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    until("No calls today.");
    client.text("echo", json!({"text": "seen"}));
    until("1 calls of 1 tools today");
    watching.stdin.take().expect("its keys").write_all(b"\x03").expect("typed");
    let ended = watching.wait().expect("its end");
    // 128 + SIGINT, as shells report it.
    assert_eq!(ended.code(), Some(130), "{ended}");
}

#[test]
fn nobody_watches_a_file() {
    let place = Place::with("[presets.p]\ngates.echo = {}\n", &["echo"]);
    let ran = place.run(&["status", "--watch"]);
    assert_eq!(ran.code(), 2);
    assert!(ran.stderr().contains("--watch requires a terminal"), "{}", ran.stderr());
}

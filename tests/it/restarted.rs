//! A host restarts, and the official SDKs continue without errors.
//!
//! `cargo xtask test` installs them; without them these tests report that they are skipped.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use crate::support::{Http, Place, installed, repository};

fn goes_on(place: &Place, mut client: Command, version: &str) {
    let host = Http::start(place, "p", &[]);
    client.args([format!("{}/mcp", host.base).as_str(), version]);
    let mut client = client.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("start the client");
    let mut lines = BufReader::new(client.stdout.take().expect("stdout")).lines();
    assert_eq!(lines.next().expect("a line").expect("text"), "connected");
    let _host = host.killed_and_restarted(place, "p");
    client.stdin.take().expect("stdin").write_all(b"go on\n").expect("a line");
    let report = lines.next().unwrap_or_else(|| panic!("the client gave up")).expect("text");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(report, json!({"said": "still here", "before": 2, "after": 2}));
    // Some clients wait long before they exit; kill them.
    let _ = client.kill();
    let _ = client.wait();
}

fn place() -> Place {
    Place::with("[presets.p]\ngates.echo = {}\n", &["echo"])
}

/// Node searches for packages next to the script, so copy the script next to a link to them.
fn typescript(packages: &Path, version: &str) {
    let place = place();
    let text = fs::read_to_string(repository().join("tests/clients/restart.mjs")).expect("the script");
    let script = place.write("restart.mjs", text);
    std::os::unix::fs::symlink(packages.join("node_modules"), place.path("node_modules")).expect("a link");
    let mut client = Command::new(installed("GATEHOUSE_TEST_NODE").unwrap_or_else(|| "node".into()));
    client.arg(script);
    goes_on(&place, client, version);
}

fn python(packages: &Path, version: &str) {
    let mut client = Command::new(packages.join("bin/python"));
    client.arg(repository().join("tests/clients/restart.py"));
    goes_on(&place(), client, version);
}

fn with(variable: &str, run: impl Fn(&Path)) {
    if let Some(packages) = installed(variable) {
        run(&packages);
    }
}

#[test]
fn typescript_1_23_goes_on() {
    with("GATEHOUSE_TEST_TYPESCRIPT_1_23", |packages| typescript(packages, "1"));
}

#[test]
fn typescript_1_32_goes_on() {
    with("GATEHOUSE_TEST_TYPESCRIPT_1_32", |packages| typescript(packages, "1"));
}

#[test]
fn typescript_2_goes_on() {
    with("GATEHOUSE_TEST_TYPESCRIPT_2", |packages| typescript(packages, "2"));
}

#[test]
fn python_1_goes_on() {
    with("GATEHOUSE_TEST_PYTHON_1", |packages| python(packages, "1"));
}

#[test]
fn python_2_goes_on() {
    with("GATEHOUSE_TEST_PYTHON_2", |packages| python(packages, "2"));
}

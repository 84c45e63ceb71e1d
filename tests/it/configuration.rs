//! `presets.toml` and the environment decide which tools a client sees. A mistake ends the start with exit code 2 and a
//! one-line error, and never exposes more tools.

mod choice;
mod components;
mod gate_names;
mod knowledge;
mod layers;
mod models;
mod names;
mod parameters;
mod served;
mod strictness;
mod trust;

use std::process::Stdio;

use crate::support::{Client, Place, place::SHIPPED};

/// Starts a host that must fail, and returns its one-line error.
fn refused(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = place.command(&[&["serve"], arguments].concat());
    command.envs(environment.iter().copied());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut host = command.spawn().expect("run gatehouse");
    // An input that ends would stop the host before a slow machine has compiled the gates.
    let input = host.stdin.take();
    let output = host.wait_with_output().expect("run gatehouse");
    drop(input);
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "standard output is the protocol's");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr.strip_prefix("error: ").expect("its name first").trim_end().to_owned()
}

fn refuses(presets: &str) -> String {
    refused(&Place::with(presets, &SHIPPED), &[], &[])
}

fn served(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Client {
    let mut client = Client::raw(place, &[&["serve"], arguments].concat(), environment);
    client.initialize("2025-11-25");
    client
}

fn serves(presets: &str) -> (Place, Client) {
    let place = Place::with(presets, &SHIPPED);
    let client = served(&place, &[], &[]);
    (place, client)
}

fn says(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "'{part}' is not in: {line}");
    }
}

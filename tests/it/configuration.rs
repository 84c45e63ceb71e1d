//! presets.toml and the environment decide who sees what, strictly: a mistake ends the start with exit
//! code 2 and one line that names it, and never with more tools than were asked for.

mod choice;
mod components;
mod gate_names;
mod knowledge;
mod layers;
mod models;
mod names;
mod parameters;
mod strictness;
mod trust;

use crate::support::{Client, Place, place::SHIPPED};

/// Starts a host that must refuse to, and gives the one line that it says.
fn refused(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let mut command = place.command(&[&["serve"], arguments].concat());
    let output = command.envs(environment.iter().copied()).output().expect("run gatehouse");
    let said = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "standard output is the protocol's");
    assert_eq!(said.lines().count(), 1, "{said}");
    said.strip_prefix("gatehouse: ").expect("its name first").trim_end().to_owned()
}

/// What a host with these presets, and all shipped gates, says instead of serving preset `full`.
fn refuses(presets: &str) -> String {
    refused(&Place::with(presets, &SHIPPED), &[], &[])
}

/// Starts a host that must serve, and shakes hands.
fn served(place: &Place, arguments: &[&str], environment: &[(&str, &str)]) -> Client {
    let mut client = Client::raw(place, &[&["serve"], arguments].concat(), environment);
    client.initialize("2025-11-25");
    client
}

/// A host with these presets, all shipped gates, and a client of preset `full`.
fn serves(presets: &str) -> (Place, Client) {
    let place = Place::with(presets, &SHIPPED);
    let client = served(&place, &[], &[]);
    (place, client)
}

/// Fails unless each of these stands in the line.
fn says(line: &str, parts: &[&str]) {
    for part in parts {
        assert!(line.contains(part), "'{part}' is not in: {line}");
    }
}

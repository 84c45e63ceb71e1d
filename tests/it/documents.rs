//! Documents through the whole host: added by an operator, found, shortened and read by agents, refused and survived.

mod adding;
mod answering;
mod hostile;
mod models;

use serde_json::{Value, json};

use crate::support::Place;

/// The shipped presets, where clients get data beside text.
fn place() -> Place {
    Place::structured()
}

/// Adds the folder `docs` of the place as the repository `docs`; gives the report.
fn add(place: &Place) -> Value {
    let folder = place.path("docs").display().to_string();
    place.run(&["docs", "add", &folder, "--name", "docs", "--json"]).json()
}

/// A manual of some 34,000 tokens: sixty chapters about one thing each, of which the fortieth tells the secret.
fn manual() -> String {
    let mut out = "# Manual of the Brewing Machine\n\nEverything about the machine.\n".to_owned();
    for chapter in 1..=60 {
        let subject = SUBJECTS[chapter % SUBJECTS.len()];
        out += &format!("\n## Chapter {chapter}: the {subject}\n\n");
        for paragraph in 1..=8 {
            out += &format!(
                "The {subject} of part {chapter}.{paragraph} is kept clean with warm water, dried in the air, and looked at \
                 once a week by whoever runs the plant. It has no moving parts, and its cover is opened by hand. \
                 Nothing else has to be done for it as long as the lamp beside it stays green.\n\n"
            );
        }
        if chapter == 40 {
            out += "To calibrate the pressure sensor, turn the brass screw until the gauge shows 2.75 bar, wait for \
                    ninety seconds and press RESET twice. A sensor that drifts afterwards has to be replaced.\n";
        }
    }
    out
}

const SUBJECTS: [&str; 6] = ["boiler", "kettle", "hopper", "conveyor", "filter", "cooling loop"];

fn question(query: &str, mode: &str) -> Value {
    json!({"query": query, "repository": "docs", "search_type": mode})
}

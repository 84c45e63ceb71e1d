//! Documents end to end: adding, searching, shortening, reading, invalid input and crashes.

mod adding;
mod answering;
mod converting;
mod hostile;
mod models;

use serde_json::{Value, json};

use crate::support::Place;

fn place() -> Place {
    Place::structured()
}

fn add(place: &Place) -> Value {
    let folder = place.path("docs").display().to_string();
    place.run(&["docs", "add", &folder, "--name", "docs", "--json"]).json()
}

/// A manual of about 34,000 tokens: sixty chapters with one subject each; chapter forty contains the answer.
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

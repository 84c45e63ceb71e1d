//! Mistakes of authors, planted in the example: what the client reads of them, and what a gate cannot leave out.

use std::fs;

use serde_json::{Value, json};

use super::{Author, kind};
use crate::support::{Client, text_of};

/// The argument with which the example makes its mistake.
const MISTAKE: f64 = 666.0;

impl Author {
    /// Has `convert` make a mistake when it is asked for 666 degrees; `code` is to stand after a piece of the file.
    pub(super) fn makes_a_mistake(&self, file: &str, after: &str, code: &str) {
        self.add(file, after, code);
    }

    /// The client reads what the mistake is and where, in these words.
    pub(super) fn tells_its_mistake(&self, words: &[&str]) {
        let mut client = Client::raw(&self.place, &["serve", "--preset", "weather"], &[]);
        client.initialize("2025-11-25");
        let failed = client.call("convert", json!({"celsius": MISTAKE}));
        assert_eq!(kind(&failed), "UNKNOWN", "{failed}");
        let text = text_of(&failed);
        assert!(words.iter().all(|part| text.contains(part)), "{words:?}: {text}");
        assert_eq!(client.text("convert", json!({"celsius": 0})), "0.0 °C is 32.0 °F.");
        assert_eq!(client.close(), Some(0));
    }

    /// Without the line that states its effect, a tool is not served, and its author reads what to write.
    pub(super) fn has_to_state_effects(&self, file: &str, line: &str) {
        let text = fs::read_to_string(self.path(file)).expect("a file of the project");
        assert!(text.contains(line), "{file} has no {line:?}");
        fs::write(self.path(file), text.replacen(line, "", 1)).expect("written");
        self.built(self.build());
        let ran = self.place.run(&["gates", "check", "weather/weather.wasm", "--json"]);
        let told: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
        assert_eq!((ran.code(), &told["passed"]), (1, &json!(false)), "{told:#}");
        let said = told.to_string();
        assert!(said.contains("Tool 'forecast' does not state its effect."), "{said}");
    }
}

#[test]
fn a_project_that_is_served_before_it_is_built_names_the_command() {
    let author = Author::new("python");
    let ran = author.place.run(&["serve", "--config", "weather/presets.toml"]);
    assert_eq!(ran.code(), 2, "{}", ran.stderr());
    let folder = author.path("").canonicalize().expect("a path");
    let command =
        format!("gate 'weather' is not built yet; run `gatehouse gates build {}`", folder.display());
    assert!(ran.stderr().contains(&command), "{}", ran.stderr());
}

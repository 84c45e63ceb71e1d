//! Bugs in a gate, inserted into the example: the client gets the error with its location, and `gates check` rejects
//! missing declarations.

use std::fs;

use serde_json::{Value, json};

use super::{Author, kind};
use crate::support::{Client, text_of};

const MISTAKE: f64 = 666.0;

impl Author {
    /// Inserts a bug that 666 degrees triggers: `code` after `after`.
    pub(super) fn makes_a_mistake(&self, file: &str, after: &str, code: &str) {
        self.add(file, after, code);
    }

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

    /// Checks that a tool without its effect is not served and that `gates check` reports the fix.
    pub(super) fn has_to_state_effects(&self, file: &str, line: &str) {
        let text = fs::read_to_string(self.path(file)).expect("a file of the project");
        assert!(text.contains(line), "{file} has no {line:?}");
        fs::write(self.path(file), text.replacen(line, "", 1)).expect("written");
        self.built(self.build());
        let ran = self.place.run(&["gates", "check", "weather/weather.wasm", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout()).expect("JSON");
        assert_eq!((ran.code(), &report["passed"]), (1, &json!(false)), "{report:#}");
        let report_text = report.to_string();
        assert!(report_text.contains("Tool 'forecast' does not state its effect."), "{report_text}");
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

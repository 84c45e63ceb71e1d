//! Gates that ask the user, in each language. The tests make the changes of docs/gate-reference.md to the example.

use std::fs;

use serde_json::json;

use super::Author;
use crate::support::{Client, text_of};

const ASKS: f64 = 451.0;

impl Author {
    /// Inserts `more` after the first `after` in a file of the project.
    pub(super) fn add(&self, file: &str, after: &str, more: &str) {
        let path = self.path(file);
        let text = fs::read_to_string(&path).expect("a file of the project");
        assert!(text.contains(after), "{file} has no {after:?}");
        fs::write(path, text.replacen(after, &format!("{after}{more}"), 1)).expect("written");
    }

    /// Makes the example ask. `code` has pieces of its file and the text to insert after each.
    pub(super) fn asks(&self, file: &str, code: &[(&str, &str)]) {
        let import = "    import gatehouse:gate/http@0.1.0;\n";
        self.add("wit/world.wit", import, "    import gatehouse:gate/elicitation@0.1.0;\n");
        for (after, more) in code {
            self.add(file, after, more);
        }
    }

    pub(super) fn asks_a_person(&self) {
        self.place.write(
            "presets.toml",
            "[gates.weather]\ncomponent = \"weather/weather.wasm\"\ngrants = [\"elicitation\"]\n[presets.weather]\ngates.weather = {}\n",
        );
        let mut client = Client::raw(&self.place, &["serve", "--preset", "weather"], &[]);
        client.initialize_with("2025-11-25", json!({"elicitation": {}}));
        for (answer, expected) in [
            (json!({"action": "accept", "content": {"sure": true}}), "{\"sure\":true}"),
            (json!({"action": "decline"}), "no"),
        ] {
            let call = json!({"name": "convert", "arguments": {"celsius": ASKS}});
            let call = client.ask("tools/call", call);
            let asked = client.next_message();
            assert_eq!(asked["method"], "elicitation/create", "{asked}");
            assert_eq!(asked["params"]["message"], "Gate 'weather' asks: Burn it?");
            client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
            assert_eq!(text_of(&client.answer(call)["result"]), expected);
        }
        assert_eq!(client.close(), Some(0));
    }
}

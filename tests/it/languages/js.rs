//! JavaScript, with componentize-qjs.

use std::{collections::HashSet, process::Command};

use serde_json::json;

use super::Author;
use crate::support::{Client, installed, text_of};

const ASKING: [(&str, &str); 2] = [
    (
        "import http from \"gatehouse:gate/http@0.1.0\";\n",
        "import elicitation from \"gatehouse:gate/elicitation@0.1.0\";\n",
    ),
    (
        "  call: guarded((call) => {\n",
        r#"    if (JSON.parse(call.arguments).celsius === 451) {
      const form = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] };
      const answer = elicitation.ask("Burn it?", JSON.stringify(form));
      const text = answer.tag === "accepted" ? answer.val : "no";
      return { content: [{ tag: "text", val: text }], structured: null, isError: true };
    }
"#,
    ),
];

#[test]
fn a_gate_in_javascript_keeps_its_promises() {
    let Some(modules) = installed("GATEHOUSE_TEST_NODE_MODULES") else { return };
    let author = Author::new("js").keeps_machine_code_to_itself();
    author.link(&modules, "node_modules");
    author.asks("gate.js", &ASKING);
    author.makes_a_mistake(
        "weather.js",
        "function convert({ celsius }) {\n",
        "  if (celsius === 666) celsius.x.y;\n  const drawn = { celsius, fahrenheit: Math.random() };\n  \
           if (celsius === 42) console.warn(\"drawn\", { celsius });\n  \
           if (celsius === 42) return { text: `${drawn.fahrenheit} ${crypto.randomUUID()} \\ud83d`, data: drawn };\n  \
           if (celsius === 43) return Promise.reject(new Error(\"never\"));\n  \
           if (celsius === 44) return { text: \"\", data: { ...drawn, fahrenheit: NaN } };\n  \
           if (typeof celsius === \"bigint\") return { text: `${celsius}`, data: { celsius, fahrenheit: 0 } };\n",
    );
    author.runs(Command::new("node").arg("--test"));
    author.built(author.build());
    author.passes_every_check();
    author.keeps_its_promises();
    author.asks_a_person();
    author.has_what_the_engine_lacks();
    author.tells_its_mistake(&[
        "gate 'weather' failed: TypeError: cannot read property 'y' of undefined, at convert (weather.js:7",
        ") [UNKNOWN]\nThis is a bug in the gate.",
    ]);
    author.has_to_state_effects("weather.js", "    effect: \"read-only\",\n");
}

impl Author {
    /// Checks random numbers over ten calls, the console, promises, NaN, and ids of 64 bits.
    fn has_what_the_engine_lacks(&self) {
        let mut client = Client::raw(&self.place, &["serve", "--preset", "weather"], &[]);
        client.initialize("2025-11-25");
        let drawn: HashSet<String> =
            (0..10).map(|_| client.text("convert", json!({"celsius": 42}))).collect();
        assert_eq!(drawn.len(), 10, "{drawn:?}");
        assert!(drawn.iter().all(|text| text.ends_with('\u{fffd}') && text.starts_with("0.")), "{drawn:?}");
        for (celsius, reason) in [
            (json!(43), "Tool 'convert' is async, so it returned a promise."),
            (json!(44), "The result has NaN in 'fahrenheit'"),
        ] {
            let failed = client.call("convert", json!({"celsius": celsius}));
            assert!(text_of(&failed).contains(reason), "{failed}");
        }
        let id = client.text("convert", json!({"celsius": -9_007_199_254_740_993_i64}));
        assert_eq!(id, "-9007199254740993");
        assert!(client.log().contains("drawn {\"celsius\":42}"), "{}", client.log());
        assert_eq!(client.close(), Some(0));
    }
}

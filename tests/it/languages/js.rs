//! JavaScript, with componentize-qjs.

use std::process::Command;

use super::Author;
use crate::support::installed;

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
        "  if (celsius === 666) celsius.x.y;\n",
    );
    author.runs(Command::new("node").arg("--test"));
    author.built(author.build());
    author.passes_every_check();
    author.keeps_its_promises();
    author.asks_a_person();
    author.tells_its_mistake(&[
        "gate 'weather' failed: TypeError: cannot read property 'y' of undefined, at convert (weather.js:7",
        ") [UNKNOWN]\nThis is a bug in the gate.",
    ]);
    author.has_to_state_effects("weather.js", "    effect: \"read-only\",\n");
}

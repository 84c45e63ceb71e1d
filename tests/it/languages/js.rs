//! JavaScript, by componentize-qjs.

use std::process::Command;

use super::Author;
use crate::support::installed;

const ASKING: [(&str, &str); 2] = [
    (
        "import http from \"gatehouse:gate/http@0.1.0\";\n",
        "import elicitation from \"gatehouse:gate/elicitation@0.1.0\";\n",
    ),
    (
        "  call(call) {\n",
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
    author.runs(Command::new("node").arg("--test"));
    author.built(author.build());
    author.passes_every_check();
    author.keeps_its_promises();
    author.asks_a_person();
}

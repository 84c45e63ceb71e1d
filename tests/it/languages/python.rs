//! Python, with componentize-py. All checks share two builds, because each takes half a minute.

use std::process::Command;

use super::Author;
use crate::support::installed;

const ASKING: [(&str, &str); 2] = [
    ("from wit_world.imports import http", "\nfrom wit_world.imports import elicitation"),
    (
        "    def call(self, call: Call) -> Reply:\n",
        r#"        if json.loads(call.arguments).get("celsius") == 451:
            form = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "required": ["sure"]}
            answer = elicitation.ask("Burn it?", json.dumps(form))
            text = answer.value if isinstance(answer, elicitation.Answer_Accepted) else "no"
            return Reply([Content_Text(text)], None, True, None)
"#,
    ),
];

#[test]
fn a_gate_in_python_keeps_its_promises() {
    let Some(venv) = installed("GATEHOUSE_TEST_VENV") else { return };
    let author = Author::new("python").keeps_machine_code_to_itself();
    author.link(&venv, ".venv");
    author.asks("gate.py", &ASKING);
    author.makes_a_mistake(
        "weather.py",
        "    celsius = arguments[\"celsius\"]\n",
        "    if celsius == 666:\n        return fahrenheit({}[\"nope\"]), {}\n",
    );
    author.runs(Command::new(venv.join("bin/python")).args(["-m", "unittest"]));
    let told = author.built(author.build());
    let imports = told["imports"].as_array().expect("imports");
    assert!(imports.iter().any(|name| name.as_str().is_some_and(|name| name.starts_with("wasi:sockets"))));
    author.passes_every_check();
    author.keeps_its_promises();
    author.asks_a_person();
    author.tells_its_mistake(&[
        "gate 'weather' failed: KeyError: 'nope', at weather.py:71 in convert, gate.py:",
        " in call [UNKNOWN]\nThis is a bug in the gate.",
    ]);
    author.has_to_state_effects("weather.py", "        \"effect\": \"READ_ONLY\",\n");
}

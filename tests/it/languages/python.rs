//! Python, with componentize-py. All checks share two builds, because each takes half a minute.

use std::{collections::HashSet, fs, process::Command};

use serde_json::json;

use super::Author;
use crate::support::{Client, installed, text_of};

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
        "    if celsius == 666:\n        return fahrenheit({}[\"nope\"]), {}\n    \
             if celsius == 42:\n        return late(), {\"celsius\": celsius, \"fahrenheit\": 0}\n    \
             if celsius == 44:\n        return \"\", {\"celsius\": celsius, \"fahrenheit\": float(\"nan\")}\n",
    );
    let path = author.path("weather.py");
    fs::write(&path, fs::read_to_string(&path).expect("a file") + LATE).expect("written");
    author.runs(Command::new(venv.join("bin/python")).args(["-m", "unittest"]));
    let report = author.built(author.build());
    let imports = report["imports"].as_array().expect("imports");
    assert!(imports.iter().any(|name| name.as_str().is_some_and(|name| name.starts_with("wasi:sockets"))));
    author.passes_every_check();
    author.keeps_its_promises();
    author.asks_a_person();
    author.imports_what_it_needs();
    author.tells_its_mistake(&[
        "gate 'weather' failed: KeyError: 'nope', at weather.py:71 in convert, gate.py:",
        " in call [UNKNOWN]\nThis is a bug in the gate.",
    ]);
    author.has_to_state_effects("weather.py", "        \"effect\": \"READ_ONLY\",\n");
    author.add("weather.py", "import json\n", "def (:\n");
    let failed = author.build().output().expect("run gatehouse");
    let message = String::from_utf8_lossy(&failed.stderr);
    assert!(message.contains("SyntaxError") && !message.contains("componentize"), "{message}");
}

/// A function with imports of its own, of modules that the standard library loads late.
const LATE: &str = r#"

def late():
    import asyncio, datetime, random

    async def waited():
        await asyncio.gather(asyncio.sleep(0.01), asyncio.sleep(0.02))
        return b"\x90\xdd".decode("shift_jis")

    day = datetime.datetime.strptime("15 Jan 2024", "%d %b %Y").day
    return f"{day} {asyncio.run(waited())} {random.random()}"

"#;

impl Author {
    fn imports_what_it_needs(&self) {
        let mut client = Client::raw(&self.place, &["serve", "--preset", "weather"], &[]);
        client.initialize("2025-11-25");
        let answers: HashSet<String> =
            (0..10).map(|_| client.text("convert", json!({"celsius": 42}))).collect();
        assert!(
            answers.len() == 10 && answers.iter().all(|text| text.starts_with("15 設 0.")),
            "{answers:?}"
        );
        let failed = client.call("convert", json!({"celsius": 44}));
        assert!(text_of(&failed).contains("the result has NaN or an infinity"), "{failed}");
        assert_eq!(client.close(), Some(0));
    }
}

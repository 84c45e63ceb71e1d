//! C, with clang and wasi-libc.

use std::{fs, process::Command};

use super::Author;
use crate::support::installed;

const ASKING: [(&str, &str); 1] = [(
    "    struct params params = read_params((struct json){(char *)call->params.ptr, call->params.len});\n    struct outcome",
    r#" asked;
    (void)asked;
    if (strncmp((const char *)call->arguments.ptr, "{\"celsius\":451", 14) == 0) {
        project_string_t message = string("Burn it?");
        project_string_t form = json(
            "{'type': 'object', 'properties': {'sure': {'type': 'boolean'}}, 'required': ['sure']}");
        gatehouse_gate_elicitation_answer_t answer;
        if (!gatehouse_gate_elicitation_ask(&message, &form, &answer, fault)) return false;
        gatehouse_gate_types_content_t *said = malloc(sizeof *said);
        said->tag = GATEHOUSE_GATE_TYPES_CONTENT_TEXT;
        said->val.text = answer.tag == GATEHOUSE_GATE_ELICITATION_ANSWER_ACCEPTED ? answer.val.accepted : string("no");
        *reply = (exports_gatehouse_gate_tools_reply_t){.content = {said, 1}, .is_error = true};
        return true;
    }
    struct outcome"#,
)];

#[test]
fn a_gate_in_c_keeps_its_promises() {
    if installed("GATEHOUSE_TEST_CLANG").is_none() {
        return;
    }
    let author = Author::new("c");
    author.asks("gate.c", &ASKING);
    author.makes_a_mistake(
        "weather.c",
        "    json_number(json_member(arguments, \"celsius\"), &celsius);\n",
        "    if (celsius == 666) __builtin_trap();\n",
    );
    author.runs(Command::new("make").arg("test"));
    author.built(author.build());
    let stdout = author.place.run(&["gates", "build", "weather"]).stdout();
    assert!(
        stdout.ends_with(
            "# The project's presets.toml has it: run `gatehouse serve` in its directory to serve it.\n"
        ),
        "{stdout}"
    );
    author.passes_every_check();
    author.keeps_its_promises();
    author.asks_a_person();
    author.tells_its_mistake(&["`unreachable` instruction executed, in convert, called by "]);
}

#[test]
fn a_mistake_is_shown_as_the_compiler_says_it_and_replaces_nothing() {
    if installed("GATEHOUSE_TEST_CLANG").is_none() {
        return;
    }
    let author = Author::new("c");
    author.place.write("weather/weather.wasm", "the last one that worked");
    author.place.write("weather/more.c", "int more(void) { return nonsense; }\n");
    let ran = author.place.run(&["gates", "build", "weather"]);
    assert_eq!(ran.code(), 1);
    let stderr = ran.stderr();
    assert!(stderr.contains("more.c:1:25: error: use of undeclared identifier 'nonsense'"), "{stderr}");
    assert!(stderr.contains("'clang' failed") && !stderr.contains("apt install"), "{stderr}");
    assert_eq!(fs::read(author.path("weather.wasm")).expect("there"), b"the last one that worked");
}

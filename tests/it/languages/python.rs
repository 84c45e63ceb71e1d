//! Python, by componentize-py. One build and one compilation serve all checks: each costs half a minute.

use std::process::Command;

use super::Author;
use crate::support::installed;

#[test]
fn a_gate_in_python_keeps_its_promises() {
    let Some(venv) = installed("GATEHOUSE_TEST_VENV") else { return };
    let author = Author::new("python").keeps_machine_code_to_itself();
    author.link(&venv, ".venv");
    author.runs(Command::new(venv.join("bin/python")).args(["-m", "unittest"]));
    let told = author.built(author.build());
    let imports = told["imports"].as_array().expect("imports");
    assert!(imports.iter().any(|name| name.as_str().is_some_and(|name| name.starts_with("wasi:sockets"))));
    author.passes_every_check();
    author.keeps_its_promises();
}

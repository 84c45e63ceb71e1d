//! JavaScript, by componentize-qjs.

use std::process::Command;

use super::Author;
use crate::support::installed;

#[test]
fn a_gate_in_javascript_keeps_its_promises() {
    let Some(modules) = installed("GATEHOUSE_TEST_NODE_MODULES") else { return };
    let author = Author::new("js").keeps_machine_code_to_itself();
    author.link(&modules, "node_modules");
    author.runs(Command::new("node").arg("--test"));
    author.built(author.build());
    author.passes_every_check();
    author.keeps_its_promises();
}

//! C, by clang and wasi-libc.

use std::{fs, process::Command};

use super::Author;
use crate::support::installed;

#[test]
fn a_gate_in_c_keeps_its_promises() {
    if installed("GATEHOUSE_TEST_CLANG").is_none() {
        return;
    }
    let author = Author::new("c");
    author.runs(Command::new("make").arg("test"));
    author.built(author.build());
    author.passes_every_check();
    author.keeps_its_promises();
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
    let said = ran.stderr();
    assert!(said.contains("more.c:1:25: error: use of undeclared identifier 'nonsense'"), "{said}");
    assert!(said.contains("'clang' failed"), "{said}");
    assert_eq!(fs::read(author.path("weather.wasm")).expect("there"), b"the last one that worked");
}

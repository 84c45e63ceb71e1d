//! Commands match their help, print JSON on request, and exit with 0 (done), 1 (failed) or 2 (invalid usage or
//! configuration).

mod allowed_tools;
mod built_in;
mod conventions;
mod explain;
mod health;
mod init;
mod inspection;
mod keys;
mod mcp_config;
mod patterns;

use crate::support::{Place, place::Ran};

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert!(!ran.stderr().contains("panicked"), "{arguments:?}: {}", ran.stderr());
    assert_eq!(ran.code(), code, "{arguments:?}:\n{}{}", ran.stdout(), ran.stderr());
    ran
}

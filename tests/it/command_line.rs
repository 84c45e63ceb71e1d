//! Every command does what its help says, prints JSON where a machine may read, and ends with 0 (done),
//! 1 (the thing asked failed) or 2 (wrong usage or configuration).

mod allowed_tools;
mod built_in;
mod explain;
mod health;
mod init;
mod inspection;
mod mcp_config;
mod patterns;
mod usage;

use crate::support::{Place, place::Ran};

/// Runs a command that ends with this exit code, and does not panic.
fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert!(!ran.stderr().contains("panicked"), "{arguments:?}: {}", ran.stderr());
    assert_eq!(ran.code(), code, "{arguments:?}:\n{}{}", ran.stdout(), ran.stderr());
    ran
}

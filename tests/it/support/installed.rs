//! What `cargo xtask test` installs for tests, and tells them by a variable.

use std::{env, path::PathBuf};

/// Where it is, or none and a loud word about how to get it.
pub(crate) fn installed(variable: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        assert!(
            env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none(),
            "{variable} is not set, and services are required"
        );
        eprintln!("SKIPPED: {variable} is not set; `cargo xtask test` installs what it names and sets it");
    }
    found
}

//! Programs and packages that `cargo xtask test` installs for tests, each named by a variable.

use std::{env, path::PathBuf};

/// Returns the path in a variable. `None`, with a message on standard error, if it is not set.
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

//! `cargo xtask fuzz`: feeds new random input to every function that parses untrusted input. This is a separate command
//! because it can fail on any day; `cargo xtask test` repeats the same inputs each time.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::{process, tools, workspace::Workspace};

/// Default seconds per target.
const SECONDS: u64 = 20;

const SEED: &str = "GATEHOUSE_FUZZ_SEED";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = crate::seconds(arguments, SECONDS)?;
    let seed = match std::env::var(SEED) {
        Ok(seed) => seed,
        Err(_) => {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
            now.as_secs().to_string()
        }
    };
    let workspace = Workspace::load()?;
    let mut command = tools::cargo_tool(&workspace.root, "nextest")?;
    command.args(["run", "--workspace", "--lib", "--bins", "-E", "test(/(^|::)fuzz::/)"]);
    println!("{SEED}={seed}");
    command.env("GATEHOUSE_FUZZ_SECONDS", seconds.to_string()).env(SEED, seed);
    process::run(&mut command)
}

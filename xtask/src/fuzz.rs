//! `cargo xtask fuzz`: feeds every function that reads input of strangers with new random input. A separate command,
//! because it can fail on any day; `cargo xtask test` feeds the same functions with the same inputs each time.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

use crate::{UsageError, process, tools, workspace::Workspace};

/// How long each target runs, in seconds, if the command line does not say. Two run at a time.
const SECONDS: u64 = 20;

/// Environment variable with the seed of the random numbers.
const SEED: &str = "GATEHOUSE_FUZZ_SEED";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds.parse().map_err(|_| {
            UsageError(format!("invalid value '{seconds}' for SECONDS: expected a whole number such as 20"))
        })?,
        _ => return Err(UsageError(format!("unexpected: {}", arguments[1..].join(" "))).into()),
    };
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

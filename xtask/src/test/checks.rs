//! Steps that find something new on another day: weaknesses that were published since, and input that nobody had tried.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use super::{Context, StepEnd};
use crate::process;

/// How long each target is fed. Two run at a time, so that ten take forty seconds.
const SECONDS: &str = "7";

/// Looks every dependency up in the database of RustSec, which is fetched. Without the network, and without a copy of an
/// earlier day, this is skipped even where services are required: what was published is no property of the sources.
pub(super) fn advisories(context: &mut Context) -> Result<StepEnd> {
    let deny = |context: &Context, arguments: &[&str]| -> Result<_> {
        let mut command = context.cargo_tool("deny")?;
        command.args(arguments);
        Ok(command)
    };
    if deny(context, &["fetch", "db"]).is_ok_and(|mut fetch| !process::succeeds(&mut fetch)) {
        let why = "the database of RustSec cannot be fetched";
        eprintln!("!! {why}\n!! skipped; run `cargo deny check advisories` where github.com can be reached");
        return Ok(StepEnd::Skipped(why.to_owned()));
    }
    context.run_tool("deny", &["--log-level", "error", "check", "advisories"])
}

/// Feeds every target with new input. The seed is printed, so that what fails can be had again.
pub(super) fn fuzz(context: &mut Context) -> Result<StepEnd> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).context("a clock before 1970")?.as_secs();
    let mut command = match context.cargo_tool("nextest") {
        Ok(command) => command,
        Err(error) => return context.missing("cargo nextest is not here", error),
    };
    command.args(["run", "--workspace", "--lib", "--bins", "-E", "test(/(^|::)fuzz::/)"]);
    println!("GATEHOUSE_FUZZ_SEED={seed}");
    command.env("GATEHOUSE_FUZZ_SECONDS", SECONDS).env("GATEHOUSE_FUZZ_SEED", seed.to_string());
    process::run(&mut command).map(|()| StepEnd::Passed)
}

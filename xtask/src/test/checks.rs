//! The step whose result depends on the day: weaknesses of dependencies that were published since the last run.

use anyhow::Result;

use super::{Context, StepEnd};
use crate::process;

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

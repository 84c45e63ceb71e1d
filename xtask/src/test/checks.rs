//! The check whose result depends on the day: advisories published since the last run.

use anyhow::Result;

use super::{Context, StepEnd};
use crate::process;

/// Checks the dependencies against the RustSec database, which it fetches first.
///
/// Without network access, skips the step even if services are required: advisories do not depend on the sources.
pub(super) fn advisories(context: &mut Context) -> Result<StepEnd> {
    let deny = |context: &Context, arguments: &[&str]| -> Result<_> {
        let mut command = context.cargo_tool("deny")?;
        command.args(arguments);
        Ok(command)
    };
    if deny(context, &["fetch", "db"]).is_ok_and(|mut fetch| !process::succeeds(&mut fetch)) {
        let why = "cannot fetch the RustSec database";
        eprintln!("!! {why}\n!! skipped; run `cargo deny check advisories` with access to github.com");
        return Ok(StepEnd::Skipped(why.to_owned()));
    }
    context.run_tool("deny", &["--log-level", "error", "check", "advisories"])
}

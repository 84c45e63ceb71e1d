//! `cargo xtask soak`: measures how a hostile server, gate and documents affect honest clients.

use anyhow::Result;

use crate::{UsageError, gates, process, workspace::Workspace};

const SECONDS: u64 = 600;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds.parse().map_err(|_| {
            UsageError(format!("invalid value '{seconds}' for SECONDS: expected a whole number such as 600"))
        })?,
        _ => return Err(UsageError(format!("unexpected argument: {}", arguments[1..].join(" "))).into()),
    };
    let workspace = Workspace::load()?;
    gates::run(&["--fixtures".to_owned()])?;
    let build = ["build", "--release", "-p", "gatehouse", "-p", "gatehouse-tests", "--bins"];
    process::run(process::cargo().args(build))?;
    let mut soak = process::command(workspace.binary("release", "soak"));
    soak.arg(workspace.binary("release", "gatehouse")).arg(workspace.binary("release", "server-of-vices"));
    soak.arg(workspace.root.join(gates::FIXTURES)).arg(seconds.to_string());
    process::run(&mut soak)
}

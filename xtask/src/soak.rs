//! `cargo xtask soak`: measures how a hostile server, gate and documents affect honest clients.

use anyhow::Result;

use crate::{
    gates::{self, GateSelection},
    process, snapshot,
    workspace::Workspace,
};

const SECONDS: u64 = 600;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = crate::seconds(arguments, SECONDS)?;
    let workspace = Workspace::load()?;
    gates::build(&workspace, GateSelection::All, &snapshot::WORKSPACE)?;
    let build = ["build", "--release", "-p", "gatehouse", "-p", "gatehouse-tests", "--bins"];
    process::run(process::cargo().args(build))?;
    let mut soak = process::command(workspace.binary("release", "soak"));
    soak.arg(workspace.binary("release", "gatehouse")).arg(workspace.binary("release", "server-of-vices"));
    soak.arg(workspace.root.join(gates::FIXTURES)).arg(seconds.to_string());
    process::run(&mut soak)
}

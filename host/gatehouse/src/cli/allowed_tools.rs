//! `gatehouse allowed-tools`: prints the tools of a preset for a client's allow-list.

use clap::Args;

use super::{CommandResult, GlobalArgs, compile_preset};
use crate::{config::Env, out};

const BASE: [&str; 3] = ["Read", "Write", "Bash"];

#[derive(Args)]
pub(super) struct Arguments {
    /// Name of the preset
    preset: String,
    /// Name that the client gives this server
    #[arg(long, default_value = "gatehouse")]
    server: String,
    /// Also allow Read, Write and Bash, the client's own tools
    #[arg(long)]
    base: bool,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let composition = global.compose(env)?;
    let catalog = composition.catalog(&compile_preset(&composition, &arguments.preset)?).await?;
    let base = BASE.into_iter().filter(|_| arguments.base).map(str::to_owned);
    let tools = catalog.in_gate_order().into_iter().filter(|entry| entry.listed);
    let tools = tools.map(|entry| format!("mcp__{}__{}", arguments.server, entry.name));
    out::json(&base.chain(tools).collect::<Vec<_>>());
    Ok(())
}

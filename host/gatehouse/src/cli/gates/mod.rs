//! `gatehouse gates`: one module per subcommand.

mod add;
mod dev;
mod inspect;
mod install;
mod project;
mod update;

use std::path::PathBuf;

use clap::Subcommand;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, confirm, with_header};
use crate::config::Env;

#[derive(Subcommand)]
pub(super) enum Command {
    /// List gates and their tools
    List(OutputFormat),
    /// Show the requirements, grants and tools of a gate
    Inspect {
        /// Component file, or name of a gate
        gate: PathBuf,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Install a gate from a registry or a file, or the missing gates of presets.toml
    Add(add::AddGateArgs),
    /// Update gates from their registries, and show the changes
    Update(update::UpdateGateArgs),
    /// Remove a gate from presets.toml, and delete the file that came with it
    Remove(install::RemoveGateArgs),
    /// Publish a gate to a registry
    Push(update::PushGateArgs),
    /// Create a project for a new gate, with a working example
    New(project::NewGateArgs),
    /// Build the project of a gate with the tools of its language
    Build(project::BuildGateArgs),
    /// Check that a gate follows the contract for any input
    Check(project::CheckGateArgs),
    /// Build the project of a gate at each save, and install it for a running host
    Dev(dev::Arguments),
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    match command {
        Command::List(output) => inspect::list(output, &global.compose(env)?).await,
        Command::Inspect { gate, output } => inspect::run(&gate, output, &global.compose(env)?).await,
        Command::Add(arguments) => add::run(arguments, global, env).await,
        Command::Update(arguments) => update::run(&arguments, global, env).await,
        Command::Remove(arguments) => install::remove(&arguments, global, env).await,
        Command::Push(arguments) => update::push(arguments, global, env).await,
        Command::New(arguments) => project::create(&arguments),
        Command::Build(arguments) => project::build(&arguments).await,
        Command::Check(arguments) => project::check(&arguments, env).await,
        Command::Dev(arguments) => dev::run(&arguments, global, env).await,
    }
}

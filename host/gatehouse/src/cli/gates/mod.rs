//! `gatehouse gates list|inspect|add|update|remove|push|new|build|check|dev`: one file a command.

mod add;
mod build;
mod check;
mod dev;
mod inspect;
mod install;
mod list;
mod local;
mod new;
mod push;
mod remote;
mod remove;
mod update;

use std::path::PathBuf;

use clap::Subcommand;

use super::{CommandError, GlobalArgs};
use crate::config::Env;

#[derive(Subcommand)]
pub(super) enum Command {
    /// List the gates there are, with their tools
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what a gate asks for, what it is granted, and its tools
    Inspect {
        /// A component file, or the name of a gate
        gate: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Install a gate from a registry or a file, or what presets.toml names and is missing
    Add(add::AddGateArgs),
    /// Bring gates again from the registries that they came from, and say what changed
    Update(update::UpdateGateArgs),
    /// Take a gate out of presets.toml, and delete the file that came with it
    Remove(remove::RemoveGateArgs),
    /// Publish a gate to a registry
    Push(push::PushGateArgs),
    /// Make a project for a new gate, with an example that works
    New(new::Arguments),
    /// Build a gate's project with its language's tools
    Build(build::Arguments),
    /// Check that a gate keeps to the contract, whatever it is called with
    Check(check::Arguments),
    /// Build a gate's project on every save, and put it where the host finds it
    Dev(dev::Arguments),
}

pub(super) async fn run(command: Command, place: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    match command {
        Command::List { json } => list::run(json, &place.compose(env)?).await,
        Command::Inspect { gate, json } => inspect::run(&gate, json, &place.compose(env)?).await,
        Command::Add(arguments) => add::run(arguments, place, env).await,
        Command::Update(arguments) => update::run(&arguments, place, env).await,
        Command::Remove(arguments) => remove::run(&arguments, place, env).await,
        Command::Push(arguments) => push::run(arguments, place, env).await,
        Command::New(arguments) => new::run(&arguments),
        Command::Build(arguments) => build::run(&arguments).await,
        Command::Check(arguments) => check::run(&arguments, env).await,
        Command::Dev(arguments) => dev::run(&arguments, place, env).await,
    }
}

//! `gatehouse completions`: scripts with which a shell requests completions from this program.
//!
//! The program completes commands and options, and the names of presets, gates and servers in the configuration.

use std::{ffi::OsStr, fmt};

use clap::{Arg, Args, Command, CommandFactory as _};
use clap_complete::{
    CompleteEnv, Shell,
    engine::{
        ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
    },
    env::Shells,
};
use gatehouse_core::hidden_chars::is_hidden;

use super::{Cli, CommandError, CommandResult};
use crate::{
    compose::GateRegistry,
    config::{Config, Env, locate},
    out,
};

const COMPLETE_VARIABLE: &str = "GATEHOUSE_COMPLETE";

const PROGRAM: &str = "gatehouse";

#[derive(Args)]
pub(super) struct Arguments {
    /// Shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> CommandResult {
    let mut script = Vec::new();
    let shell = arguments.shell.to_string();
    let failed = |why: &dyn fmt::Display| CommandError::failed(format!("no script for {shell}: {why}"));
    let shells = Shells::builtins();
    let completer = shells.completer(&shell).ok_or_else(|| failed(&"unknown shell"))?;
    let written = completer.write_registration(COMPLETE_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script);
    written.map_err(|error| failed(&error))?;
    out::line(String::from_utf8_lossy(&script).trim());
    Ok(())
}

/// Prints completions and exits if a shell requests them. Returns otherwise.
pub(super) fn answer() {
    CompleteEnv::with_factory(|| with_names(Cli::command())).var(COMPLETE_VARIABLE).complete();
}

/// Returns the configuration of a command without options. Ignores errors, which other commands report.
fn config() -> Option<Config> {
    let env = Env::read().ok()?;
    Config::from_text(&locate::read(None, &env).ok()?.text, None, None, &env).ok()
}

/// Omits names that could control the terminal.
fn candidates(names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    names
        .into_iter()
        .filter(|name| !name.contains(|c: char| c.is_control() || is_hidden(c)))
        .map(CompletionCandidate::new)
        .collect()
}

/// Adds completions to the arguments `preset`, `gate` and `server`.
fn with_names(root: Command) -> Command {
    root.mut_subcommands(|command| {
        // In other commands, `--server` is the name that a client gives this host.
        let about_servers = matches!(command.get_name(), "servers" | "tools");
        let named = |arg: Arg| match arg.get_id().as_str() {
            "preset" => arg.add(ArgValueCandidates::new(presets)),
            "gate" => arg.add(ArgValueCompleter::new(gates_and_files)),
            "server" if about_servers => arg.add(ArgValueCandidates::new(servers)),
            _ => arg,
        };
        command.mut_args(named).mut_subcommands(|below| below.mut_args(named))
    })
}

fn presets() -> Vec<CompletionCandidate> {
    candidates(config().into_iter().flat_map(|config| config.presets.into_keys()))
}

fn servers() -> Vec<CompletionCandidate> {
    candidates(config().into_iter().flat_map(|config| config.servers.declared.into_keys()))
}

fn gates_and_files(begun: &OsStr) -> Vec<CompletionCandidate> {
    let names = config().map(|config| GateRegistry::names_in(&config)).unwrap_or_default();
    let begin = begun.to_string_lossy();
    let mut all = candidates(names.into_iter().filter(|name| name.starts_with(&*begin)));
    all.extend(PathCompleter::file().complete(begun));
    all
}

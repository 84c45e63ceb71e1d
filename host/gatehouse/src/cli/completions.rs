//! `gatehouse completions`: scripts with which a shell requests completions from this program.
//!
//! The program completes commands and options, and names: of presets and gates in the configuration, and of servers,
//! their tools, repositories and keys, also of those in the data directory.

use std::{ffi::OsStr, fmt, sync::Arc};

use clap::{Arg, Args, Command, CommandFactory as _};
use clap_complete::{
    CompleteEnv, Shell,
    engine::{
        ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
    },
    env::Shells,
};
use gatehouse_core::{
    hidden_chars::is_hidden,
    ports::{DocumentReader as _, KeyStore as _},
};
use tokio::runtime::Builder;

use super::{Cli, CommandError, CommandResult};
use crate::{
    compose::{self, Composition, GateRegistry},
    config::{Config, Env, added::FileServerStore, locate},
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
    let failed = |reason: &dyn fmt::Display| CommandError::failed(format!("no script for {shell}: {reason}"));
    let shells = Shells::builtins();
    let completer = shells.completer(&shell).ok_or_else(|| failed(&"unknown shell"))?;
    let written = completer.write_registration(COMPLETE_VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script);
    written.map_err(|error| failed(&error))?;
    out::line(String::from_utf8_lossy(&script).trim());
    Ok(())
}

/// Prints completions and exits if a shell requests them. Returns otherwise.
pub(crate) fn answer() {
    CompleteEnv::with_factory(|| with_names(Cli::command())).var(COMPLETE_VARIABLE).complete();
}

/// Returns the configuration of a command without options. Ignores errors, which other commands report.
fn config() -> Option<Config> {
    configured().map(|(config, _)| config)
}

fn configured() -> Option<(Config, Env)> {
    let env = Env::read().ok()?;
    Some((Config::from_text(&locate::read(None, &env).ok()?.text, None, None, &env).ok()?, env))
}

/// Returns names from the data directory. Creates no database.
fn stored<F: Future<Output = Option<Vec<String>>>>(
    database: &str,
    names: impl FnOnce(Config, Env) -> F,
) -> Vec<CompletionCandidate> {
    let Some((config, env)) = configured().filter(|(config, _)| config.state.join(database).exists()) else {
        return Vec::new();
    };
    // The stores block their thread, which a runtime with one thread does not allow.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    candidates(runtime.ok().and_then(|runtime| runtime.block_on(names(config, env))).unwrap_or_default())
}

/// Omits names that could control the terminal.
fn candidates(names: impl IntoIterator<Item = String>) -> Vec<CompletionCandidate> {
    names
        .into_iter()
        .filter(|name| !name.contains(|c: char| c.is_control() || is_hidden(c)))
        .map(CompletionCandidate::new)
        .collect()
}

/// Adds completions to arguments that are names.
fn with_names(root: Command) -> Command {
    root.mut_subcommands(|command| {
        let name = command.get_name().to_owned();
        // In other commands, `--server` is the name that a client gives this host.
        let about_servers = matches!(&*name, "servers" | "tools" | "agent-template");
        let named = |arg: Arg| match arg.get_id().as_str() {
            "preset" => arg.add(ArgValueCandidates::new(presets)),
            "gate" => arg.add(ArgValueCompleter::new(gates_and_files)),
            "server" if about_servers => arg.add(ArgValueCandidates::new(servers)),
            "tool" if name == "tools" => arg.add(ArgValueCandidates::new(tools)),
            "repository" | "repositories" => arg.add(ArgValueCandidates::new(repositories)),
            "name" if name == "keys" => arg.add(ArgValueCandidates::new(keys)),
            _ => arg,
        };
        let creates = |below: &Command| matches!(below.get_name(), "create" | "add");
        let below = |below: Command| if creates(&below) { below } else { below.mut_args(&named) };
        command.mut_args(&named).mut_subcommands(below)
    })
}

fn presets() -> Vec<CompletionCandidate> {
    candidates(config().into_iter().flat_map(|config| config.presets.into_keys()))
}

fn servers() -> Vec<CompletionCandidate> {
    let Some((config, env)) = configured() else { return Vec::new() };
    let declared: Vec<String> = config.servers.declared.keys().cloned().collect();
    let added = FileServerStore::new(Arc::new(config), env).snapshot().servers.into_keys();
    candidates(declared.into_iter().chain(added))
}

/// Returns the own names of tools that servers listed.
fn tools() -> Vec<CompletionCandidate> {
    stored("tools.db", async |config, env| {
        let composition = Composition::new(config, &env).ok()?;
        let servers = composition.known_servers().await.ok()?.into_values();
        let listings: Vec<_> = servers.filter_map(|server| server.listing).collect();
        let tools = listings.iter().flat_map(|listed| &listed.listing.tools);
        let mut names: Vec<String> = tools.map(|tool| tool.name.to_string()).collect();
        names.sort();
        names.dedup();
        Some(names)
    })
}

fn repositories() -> Vec<CompletionCandidate> {
    stored("documents.db", async |config, _| {
        let embedder = compose::models(&config).ok()?.embedder;
        let repositories = compose::documents(&config, &embedder).ok()?.repositories(false).await.ok()?;
        Some(repositories.into_iter().map(|repository| repository.name).collect())
    })
}

fn keys() -> Vec<CompletionCandidate> {
    stored("auth.db", async |config, _| {
        let keys = compose::keys(&config).list().await.ok()?;
        Some(keys.into_iter().map(|key| key.name).collect())
    })
}

fn gates_and_files(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = config().map(|config| GateRegistry::names_in(&config)).unwrap_or_default();
    let prefix = current.to_string_lossy();
    let mut completions = candidates(names.into_iter().filter(|name| name.starts_with(&*prefix)));
    completions.extend(PathCompleter::file().complete(current));
    completions
}

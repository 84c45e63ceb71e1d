//! The command line: one module per command.

mod agent_template;
mod allowed_tools;
mod approve;
mod audit;
mod backup;
mod cache;
mod call;
mod calls;
mod completions;
mod dashboard;
mod docs;
mod doctor;
mod explain;
mod gates;
mod init;
mod keys;
mod kg;
mod mcp_config;
mod presets;
mod principals;
mod quotas;
mod request;
mod restore;
mod schema;
mod scripts;
mod serve;
mod servers;
mod status;
mod tools;
mod trust;

use std::{fmt, path::Path};

use clap::{Args, Parser, Subcommand};
use gatehouse_core::{CompiledPreset, Fault};
use serde::Serialize;

pub(crate) use crate::global_args::GlobalArgs;
use crate::{
    compose::Composition,
    config::{ConfigError, Env},
    out,
    plain_error::PlainError,
    telemetry::{self, LogFormat},
};
pub(crate) use completions::answer as answer_completions;
pub(crate) use {approve::describe_answer, call::run_tool, mcp_config::client_config, presets::tokens};
pub(crate) use {
    calls::{body_lines, call_facts, outcome_words, read_bodies},
    servers::{pretty_json, reached_by},
};

/// MCP gateway: one server, many sandboxed gates
#[derive(Parser)]
#[command(name = "gatehouse", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    /// Format of the lines on standard error
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT",
        help_heading = "Global options"
    )]
    log_format: LogFormat,
    /// Log more, including each call
    #[arg(short, long, global = true, conflicts_with = "quiet", help_heading = "Global options")]
    verbose: bool,
    /// Log only errors, and omit notes
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP over stdio, or over HTTP to many clients
    Serve(serve::Arguments),
    /// List, inspect, install, create and build gates
    #[command(subcommand)]
    Gates(gates::Command),
    /// List, show, check and measure presets
    #[command(subcommand)]
    Presets(presets::Command),
    /// Print the tools that an agent with this preset may call, for allow-lists
    AllowedTools(allowed_tools::Arguments),
    /// Print a client configuration to paste
    McpConfig(mcp_config::Arguments),
    /// Write instructions for using this gateway into the files that a project's agents read
    Init(init::Arguments),
    /// Explain why a tool is, or is not, exposed
    Explain(explain::Arguments),
    /// Show hosts, calls, tools, servers and presets in a browser, and decide what waits
    Dashboard(dashboard::Arguments),
    /// Call a tool of a preset, as a client would
    Call(call::Arguments),
    /// Run a tool by a request envelope: a JSON object in, a JSON object out
    Request(request::Arguments),
    /// Print a subagent for one server, which keeps its tools out of other contexts
    AgentTemplate(agent_template::Arguments),
    /// List, print, run, remove and export the scripts that agents saved
    #[command(subcommand)]
    Scripts(scripts::Command),
    /// Index, search and edit the knowledge graph
    #[command(subcommand)]
    Kg(kg::Command),
    /// Index, search and read repositories of documents
    #[command(subcommand)]
    Docs(docs::Command),
    /// List, add, remove and import MCP servers
    #[command(subcommand)]
    Servers(servers::Command),
    /// Find, read and call the tools of MCP servers; show metrics of all tools
    #[command(subcommand)]
    Tools(tools::Command),
    /// Ask at the terminal about calls that wait for an approval
    Approve(approve::Arguments),
    /// Show single calls, or one with its times
    Calls(calls::Arguments),
    /// Create, list, rotate and revoke the API keys of callers over HTTP
    #[command(subcommand)]
    Keys(keys::Command),
    /// Search the audit and verify it
    #[command(subcommand)]
    Audit(audit::Command),
    /// List principals, show and erase what they own
    #[command(subcommand)]
    Principals(principals::Command),
    /// Show the use of quotas by principal, and the calls that they refused
    Quotas(quotas::Arguments),
    /// Show the configuration and its state
    Status(status::Arguments),
    /// Show the size of the cache of compiled gates, or remove it
    #[command(subcommand)]
    Cache(cache::Command),
    /// Check for problems
    Doctor(doctor::Arguments),
    /// Trust the presets.toml of a working directory, as it is now
    Trust(trust::Arguments),
    /// Copy the data directory into one file, while hosts run
    Backup(backup::Arguments),
    /// Replace the data directory with a backup
    Restore(restore::Arguments),
    /// Print the JSON Schema of presets.toml
    Schema,
    /// Print a completion script for a shell
    Completions(completions::Arguments),
}

#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit_code: u8,
    pub(crate) message: String,
}

pub(crate) type CommandResult<T = ()> = Result<T, CommandError>;

impl CommandError {
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self { exit_code: 2, message: message.to_string() }
    }

    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self { exit_code: 1, message: message.to_string() }
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::usage(error)
    }
}

impl From<PlainError> for CommandError {
    fn from(error: PlainError) -> Self {
        Self::failed(error)
    }
}

impl From<Fault> for CommandError {
    fn from(fault: Fault) -> Self {
        Self::failed(fault.in_one_line())
    }
}

// No doc comment: clap would show it in the help of each command.
#[derive(Clone, Copy, Args)]
struct OutputFormat {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl OutputFormat {
    /// Prints a value as JSON if the user requests that, else calls `text`, which prints it for people.
    fn print(self, value: &impl Serialize, text: impl FnOnce()) {
        if self.json { out::json(value) } else { text() }
    }
}

impl Cli {
    /// Returns whether this is a host for the client that started it. Such a host needs one worker thread.
    pub(crate) fn serves_one_client(&self) -> bool {
        matches!(&self.command, Command::Serve(arguments) if arguments.http.is_none())
    }

    pub(crate) fn log(&self) -> telemetry::Options {
        let calls = matches!(&self.command, Command::Serve(arguments) if arguments.log_calls);
        let filter = match (self.verbose, self.quiet) {
            (true, _) => Some("warn,gate=debug,models=debug"),
            (_, true) => Some("error"),
            _ => None,
        };
        let is_host = matches!(&self.command, Command::Serve(_) | Command::Gates(gates::Command::Dev(_)));
        telemetry::Options { format: self.log_format, calls: calls || self.verbose, filter, is_host }
    }
}

pub(crate) async fn run(cli: Cli, env: &Env) -> CommandResult {
    let global = &cli.global;
    let done = match cli.command {
        Command::Serve(arguments) => serve::run(arguments, global, env).await,
        Command::Gates(command) => gates::run(command, global, env).await,
        Command::Presets(command) => presets::run(command, global, env).await,
        Command::AllowedTools(arguments) => allowed_tools::run(arguments, global, env).await,
        Command::McpConfig(arguments) => mcp_config::run(&arguments, global, env),
        Command::Init(arguments) => init::run(arguments, global, env).await,
        Command::Explain(arguments) => explain::run(arguments, global, env).await,
        Command::Dashboard(arguments) => dashboard::run(&arguments, global, env).await,
        Command::Call(arguments) => call::run(arguments, global, env).await,
        Command::Request(arguments) => request::run(arguments, global, env).await,
        Command::AgentTemplate(arguments) => agent_template::run(arguments, global, env).await,
        Command::Scripts(command) => scripts::run(command, global, env).await,
        Command::Kg(command) => kg::run(command, global, env).await,
        Command::Docs(command) => docs::run(command, global, env).await,
        Command::Servers(command) => servers::run(command, global, env).await,
        Command::Tools(command) => tools::run(command, global, env).await,
        Command::Approve(arguments) => approve::run(&arguments, global, env).await,
        Command::Calls(arguments) => calls::run(&arguments, global, env).await,
        Command::Keys(command) => keys::run(command, global, env).await,
        Command::Audit(command) => audit::run(command, global, env).await,
        Command::Principals(command) => principals::run(command, global, env).await,
        Command::Quotas(arguments) => quotas::run(arguments, global, env).await,
        Command::Status(arguments) => status::run(&arguments, global, env).await,
        Command::Cache(command) => cache::run(&command, global, env),
        Command::Doctor(arguments) => doctor::run(&arguments, cli.verbose, global, env).await,
        Command::Trust(arguments) => trust::run(&arguments, env),
        Command::Backup(arguments) => backup::run(&arguments, global, env),
        Command::Restore(arguments) => restore::run(&arguments, global, env),
        Command::Schema => schema::run(),
        Command::Completions(arguments) => completions::run(&arguments),
    };
    global.close().await;
    done
}

/// Returns the rows of a table below its header.
fn with_header<const N: usize>(
    header: [&str; N],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Vec<Vec<String>> {
    std::iter::once(header.map(str::to_owned).to_vec()).chain(rows).collect()
}

/// Asks for confirmation on the terminal. With `program`, which means that a program reads the output, the answer is
/// `yes` without a question.
async fn confirm(yes: bool, program: bool, question: impl Into<String>) -> CommandResult<bool> {
    if yes || program {
        return Ok(yes);
    }
    let advice = "no terminal to ask for confirmation, so nothing was changed; add --yes";
    confirm_on_terminal(question.into(), advice).await
}

/// Asks for confirmation. Fails with `advice` if there is no terminal.
async fn confirm_on_terminal(question: String, advice: &str) -> CommandResult<bool> {
    let answer = tokio::task::spawn_blocking(move || out::prompt(&question)).await;
    match answer.map_err(CommandError::failed)? {
        Some(answer) => Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")),
        None => Err(CommandError::usage(advice)),
    }
}

/// Writes a file, and creates its directory.
fn write_file(file: &Path, text: &str) -> CommandResult {
    let folder = file.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder)
        .and_then(|()| gatehouse_files::write_atomic(file, text.as_bytes()))
        .map_err(|error| CommandError::failed(format!("{}: cannot be written: {error}", file.display())))
}

fn compile_preset(composition: &Composition, preset: &str) -> CommandResult<CompiledPreset> {
    CompiledPreset::compile(&composition.config.presets, preset).map_err(CommandError::usage)
}

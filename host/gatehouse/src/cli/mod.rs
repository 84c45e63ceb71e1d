//! The command line: one file a command, one variant a command, one list.

mod agent_template;
mod allowed_tools;
mod backup;
mod cache;
mod call;
mod completions;
mod docs;
mod doctor;
mod explain;
mod gates;
mod init;
mod kg;
mod map;
mod mcp_config;
mod presets;
mod request;
mod restore;
mod schema;
mod scripts;
mod serve;
mod servers;
mod status;
mod tools;
mod trust;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand, error::ErrorKind};

pub(crate) use crate::global_args::GlobalArgs;
use crate::{
    compose::Composition,
    config::{ConfigError, Env},
    examples, out,
    telemetry::{self, LogFormat},
};

/// The MCP gateway: one server, many sandboxed gates.
#[derive(Parser)]
#[command(name = "gatehouse", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    place: GlobalArgs,
    /// What the lines on standard error look like
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: LogFormat,
    /// Log more, each call among it
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,
    /// Log errors only, and leave remarks out
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP: over stdio, or over HTTP to many clients at once
    Serve(serve::Arguments),
    /// Gates: list, look into one, install, make and build one
    #[command(subcommand)]
    Gates(gates::Command),
    /// List presets, show one, check all, count what they cost
    #[command(subcommand)]
    Presets(presets::Command),
    /// Print the tools that an agent with this preset may call, for allow-lists
    AllowedTools(allowed_tools::Arguments),
    /// Print a client configuration, ready to paste
    McpConfig(mcp_config::Arguments),
    /// Tell the agents of a project how to use this gateway, in the files that they read
    Init(init::Arguments),
    /// Say why a tool is, or is not, exposed
    Explain(explain::Arguments),
    /// Draw what each preset reaches, and how pages are linked
    Map(map::Arguments),
    /// Call a tool of a preset, as a client would
    Call(call::Arguments),
    /// Run a tool by a request envelope: a JSON object in, a JSON object out
    Request(request::Arguments),
    /// Print a subagent for one server, so that its tools stay out of other contexts
    AgentTemplate(agent_template::Arguments),
    /// The scripts that agents keep: list, print, run, remove one, write it into a file
    #[command(subcommand)]
    Scripts(scripts::Command),
    /// Index, search and edit the knowledge graph
    #[command(subcommand)]
    Kg(kg::Command),
    /// Index, search and read repositories of documents
    #[command(subcommand)]
    Docs(docs::Command),
    /// The MCP servers behind this host: list, add, remove, import
    #[command(subcommand)]
    Servers(servers::Command),
    /// The tools of those servers: find, read and call them; how calls of all tools went
    #[command(subcommand)]
    Tools(tools::Command),
    /// Show what is configured, and how it is
    Status(status::Arguments),
    /// Show how much is kept of compiled gates, or remove it
    #[command(subcommand)]
    Cache(cache::Command),
    /// Look for what could keep Gatehouse from working
    Doctor(doctor::Arguments),
    /// Trust a presets.toml of a working folder, as it is now
    Trust(trust::Arguments),
    /// Copy the data folder into one file, while hosts run
    Backup(backup::Arguments),
    /// Put the data folder of a backup in the place of this one
    Restore(restore::Arguments),
    /// Print the JSON Schema of presets.toml
    Schema,
    /// Print a completion script for a shell
    Completions(completions::Arguments),
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// Wrong usage or configuration.
    Usage(String),
    /// The thing asked failed.
    Failed(String),
}

impl CommandError {
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Usage(message) | Self::Failed(message) => message,
        }
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<gatehouse_core::Fault> for CommandError {
    fn from(fault: gatehouse_core::Fault) -> Self {
        Self::Failed(fault.in_one_line())
    }
}

impl Cli {
    /// Reads the command line; none where it asked for help, which is printed, on terminals with `colours`. Ends the
    /// program where a shell asks how a line may go on.
    pub(crate) fn read(colours: bool) -> Result<Option<Self>, CommandError> {
        completions::answer();
        let read = examples::add_examples(Self::command()).try_get_matches();
        match read.and_then(|matches| Self::from_arg_matches(&matches)) {
            Ok(cli) => Ok(Some(cli)),
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                let text = error.render();
                let (plain, coloured) = (text.to_string(), text.ansi().to_string());
                out::help(plain.trim_end(), coloured.trim_end(), colours);
                Ok(None)
            }
            Err(error) => {
                let text = error.to_string();
                Err(CommandError::Usage(text.trim().trim_start_matches("error: ").to_owned()))
            }
        }
    }

    /// Whether this is a host for the client that started it. What it does not answer at once runs on threads of
    /// their own.
    pub(crate) fn serves_one_client(&self) -> bool {
        matches!(&self.command, Command::Serve(arguments) if arguments.http.is_none())
    }

    /// Whether nothing is said but what was asked for, and what went wrong.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// How the log is to be kept.
    pub(crate) fn log(&self) -> telemetry::Options {
        let calls = matches!(&self.command, Command::Serve(arguments) if arguments.log_calls);
        let filter = match (self.verbose, self.quiet) {
            (true, _) => Some("warn,gate=debug,models=debug"),
            (_, true) => Some("error"),
            _ => None,
        };
        telemetry::Options { format: self.log_format, calls: calls || self.verbose, filter }
    }
}

/// Runs the command.
pub(crate) async fn run(cli: Cli, env: &Env) -> Result<(), CommandError> {
    let place = &cli.place;
    let done = match cli.command {
        Command::Serve(arguments) => serve::run(arguments, place, env).await,
        Command::Gates(command) => gates::run(command, place, env).await,
        Command::Presets(command) => presets::run(command, place, env).await,
        Command::AllowedTools(arguments) => allowed_tools::run(arguments, place, env).await,
        Command::McpConfig(arguments) => mcp_config::run(&arguments, place, env),
        Command::Init(arguments) => init::run(arguments, place, env).await,
        Command::Explain(arguments) => explain::run(arguments, place, env).await,
        Command::Map(arguments) => map::run(arguments, place, env).await,
        Command::Call(arguments) => call::run(arguments, place, env).await,
        Command::Request(arguments) => request::run(arguments, place, env).await,
        Command::AgentTemplate(arguments) => agent_template::run(arguments, place, env).await,
        Command::Scripts(command) => scripts::run(command, place, env).await,
        Command::Kg(command) => kg::run(command, place, env).await,
        Command::Docs(command) => docs::run(command, place, env).await,
        Command::Servers(command) => servers::run(command, place, env).await,
        Command::Tools(command) => tools::run(command, place, env).await,
        Command::Status(arguments) => status::run(&arguments, place, env).await,
        Command::Cache(command) => cache::run(&command, place, env),
        Command::Doctor(arguments) => doctor::run(&arguments, cli.verbose, place, env).await,
        Command::Trust(arguments) => trust::run(&arguments, env),
        Command::Backup(arguments) => backup::run(&arguments, place, env),
        Command::Restore(arguments) => restore::run(&arguments, place, env),
        Command::Schema => schema::run(),
        Command::Completions(arguments) => completions::run(&arguments),
    };
    place.close().await;
    done
}

/// Asks on the terminal, unless that was answered on the command line; no where a program reads the answers.
pub(crate) async fn confirm(
    yes: bool,
    program: bool,
    question: impl Into<String>,
) -> Result<bool, CommandError> {
    if yes || program {
        return Ok(yes);
    }
    let question = question.into();
    let asked = tokio::task::spawn_blocking(move || out::ask(&question)).await;
    match asked.map_err(|error| CommandError::Failed(error.to_string()))? {
        Some(answer) => Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")),
        None => Err(CommandError::Usage("nobody is there to ask, so nothing was changed; add --yes".into())),
    }
}

/// The exposure of a preset that was named on the command line.
pub(crate) fn exposure(
    composition: &Composition,
    preset: &str,
) -> Result<gatehouse_core::CompiledPreset, CommandError> {
    gatehouse_core::CompiledPreset::compile(&composition.config.presets, preset)
        .map_err(|error| CommandError::Usage(error.to_string()))
}

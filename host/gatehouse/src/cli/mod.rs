//! The command line: one file a command, one variant a command, one list.

mod allowed_tools;
mod cache;
mod completions;
mod doctor;
mod explain;
mod gates;
mod kg;
mod mcp_config;
mod presets;
mod schema;
mod serve;
mod status;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, error::ErrorKind};

use crate::{
    compose::Composition,
    config::{Config, ConfigError, Env},
    out,
    telemetry::{self, Format},
};

/// The MCP gateway: one server, many sandboxed gates.
#[derive(Parser)]
#[command(name = "gatehouse", version, about, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(flatten)]
    place: Place,
    /// What the lines on standard error look like
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORMAT")]
    log_format: Format,
    #[command(subcommand)]
    command: Command,
}

/// Where configuration and gates are.
#[derive(Args)]
pub(crate) struct Place {
    /// The configuration [default: ./presets.toml, else the one in the XDG config home, else built in]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The folder with gates, instead of those that the configuration names
    #[arg(long, global = true, value_name = "DIR")]
    gates: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve MCP: over stdio, or over HTTP to many clients at once
    Serve(serve::Arguments),
    /// List gates, or look into one
    #[command(subcommand)]
    Gates(gates::Command),
    /// List presets, show one, check all, count what they cost
    #[command(subcommand)]
    Presets(presets::Command),
    /// Print the tools that an agent with this preset may call, for allow-lists
    AllowedTools(allowed_tools::Arguments),
    /// Print a client configuration, ready to paste
    McpConfig(mcp_config::Arguments),
    /// Say why a tool is, or is not, exposed
    Explain(explain::Arguments),
    /// Index, search and edit the knowledge graph
    #[command(subcommand)]
    Kg(kg::Command),
    /// Show what is configured, and how it is
    Status(status::Arguments),
    /// Show how much is kept of compiled gates, or remove it
    #[command(subcommand)]
    Cache(cache::Command),
    /// Look for what could keep Gatehouse from working
    Doctor(doctor::Arguments),
    /// Print the JSON Schema of presets.toml
    Schema,
    /// Print a completion script for a shell
    Completions(completions::Arguments),
}

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Wrong usage or configuration.
    Usage(String),
    /// The thing asked failed.
    Failed(String),
}

impl Failure {
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

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<gatehouse_core::Fault> for Failure {
    fn from(fault: gatehouse_core::Fault) -> Self {
        Self::Failed(crate::compose::said(&fault))
    }
}

impl Place {
    pub(crate) fn config(&self, env: &Env) -> Result<Config, ConfigError> {
        Config::load(self.config.as_deref(), self.gates.as_deref(), env)
    }

    pub(crate) fn compose(&self, env: &Env) -> Result<Composition, ConfigError> {
        Composition::new(self.config(env)?, env)
    }
}

impl Cli {
    /// Reads the command line; none where it asked for help, which is printed.
    pub(crate) fn read() -> Result<Option<Self>, Failure> {
        match Self::try_parse() {
            Ok(cli) => Ok(Some(cli)),
            Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
                out::line(error.to_string().trim_end());
                Ok(None)
            }
            Err(error) => {
                let text = error.to_string();
                Err(Failure::Usage(text.trim().trim_start_matches("error: ").to_owned()))
            }
        }
    }

    /// How the log is to be kept.
    pub(crate) fn log(&self) -> telemetry::Options {
        let calls = matches!(&self.command, Command::Serve(arguments) if arguments.log_calls);
        telemetry::Options { format: self.log_format, calls }
    }
}

/// Runs the command.
pub(crate) async fn run(cli: Cli, env: &Env) -> Result<(), Failure> {
    let place = &cli.place;
    match cli.command {
        Command::Serve(arguments) => serve::run(arguments, place, env).await,
        Command::Gates(command) => gates::run(command, place, env).await,
        Command::Presets(command) => presets::run(command, place, env).await,
        Command::AllowedTools(arguments) => allowed_tools::run(arguments, place, env).await,
        Command::McpConfig(arguments) => mcp_config::run(&arguments, place, env),
        Command::Explain(arguments) => explain::run(arguments, place, env).await,
        Command::Kg(command) => kg::run(command, place, env).await,
        Command::Status(arguments) => status::run(&arguments, place, env).await,
        Command::Cache(command) => cache::run(&command, place, env),
        Command::Doctor(arguments) => doctor::run(&arguments, place, env).await,
        Command::Schema => schema::run(),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}

/// The exposure of a preset that was named on the command line.
pub(crate) fn exposure(composition: &Composition, preset: &str) -> Result<gatehouse_core::Exposure, Failure> {
    gatehouse_core::Exposure::compile(&composition.config.presets, preset)
        .map_err(|error| Failure::Usage(error.to_string()))
}

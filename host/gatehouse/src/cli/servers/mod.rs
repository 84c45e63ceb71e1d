//! `gatehouse servers`: manages the MCP servers.

mod add;
mod import;
mod login;
mod review;
mod status;

pub(super) use status::{reached_by, states};

use clap::Subcommand;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat, PlainError, confirm, with_header};
use crate::{config::Env, out};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List configured servers without starting them
    List(OutputFormat),
    /// Show the state of servers in the running hosts, without starting them
    Status(OutputFormat),
    /// Read the tools of one server or all servers again
    Refresh(status::RefreshArgs),
    /// Show changes that are quarantined, and approve them
    Review(review::ReviewArgs),
    /// Find servers in an MCP registry
    Search(add::ServerSearchArgs),
    /// Add a server: a program after --, a URL, or one of an MCP registry
    Add(add::AddServerArgs),
    /// Remove a server from presets.toml or from the added ones
    Remove {
        /// Name of the server
        server: String,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Show the servers in other clients' files as presets.toml blocks, or write them into it
    Import(import::Arguments),
    /// Log in to a server in a browser, which is opened
    Login(login::LoginArgs),
    /// Delete the login to a server, and revoke it at the authorization server
    Logout(login::LogoutArgs),
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    match command {
        Command::List(output) => status::list(&global.compose(env)?, env, output).await,
        Command::Status(output) => status::status(&global.compose(env)?, env, output).await,
        Command::Refresh(arguments) => status::refresh(&global.compose(env)?, &arguments).await,
        Command::Review(asked) => review::review(asked, &global.compose(env)?).await,
        Command::Search(arguments) => add::search(&arguments).await,
        Command::Add(arguments) => add::add(arguments, global, env).await,
        Command::Remove { server, output } => add::remove(&server, global, env, output),
        Command::Import(arguments) => import::run(&arguments, global, env),
        Command::Login(arguments) => login::log_in(&arguments, global, env).await,
        Command::Logout(arguments) => login::log_out(&arguments, global, env).await,
    }
}

fn note_missing_variables(variables: &[(String, String)]) {
    for (variable, value) in variables {
        out::note(format!("Set {variable} in the environment of the host: its value is {value}."));
    }
}

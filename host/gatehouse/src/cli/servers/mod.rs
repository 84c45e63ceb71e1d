//! `gatehouse servers`: manages the MCP servers.

mod add;
mod import;
mod login;
mod review;
mod search;
mod status;

pub(super) use status::{reached_by, states};

use clap::Subcommand;

use super::{CommandError, GlobalArgs, PlainError};
use crate::{config::Env, out};

#[derive(Subcommand)]
pub(super) enum Command {
    /// List configured servers without starting them
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the state of servers in the running hosts, without starting them
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Read the tools of one server or all servers again
    Refresh {
        /// Name of the server [default: all]
        server: Option<String>,
        /// Also write unchanged tools again
        #[arg(long)]
        force: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show changes that are quarantined, and approve them
    Review(review::ReviewArgs),
    /// Find servers in an MCP registry
    Search(search::ServerSearchArgs),
    /// Add a server: a program after --, a URL, or one of an MCP registry
    Add(add::AddServerArgs),
    /// Remove a server from presets.toml or from the added ones
    Remove {
        /// Name of the server
        server: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the servers in other clients' files as presets.toml blocks, or write them into it
    Import(import::Arguments),
    /// Log in to a server in a browser, which is opened
    Login(login::LoginArgs),
    /// Delete the login to a server, and revoke it at the authorization server
    Logout {
        /// Name of the server
        server: String,
        /// Principal whose login it is, such as key:ann [default: the one that all callers share]
        #[arg(long = "as", value_name = "WHO")]
        principal: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(command: Command, global: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    match command {
        Command::List { json } => status::list(&global.compose(env)?, env, json).await?,
        Command::Status { json } => status::status(&global.compose(env)?, env, json).await?,
        Command::Refresh { server, force, json } => {
            return status::refresh(&global.compose(env)?, server.as_deref(), force, json).await;
        }
        Command::Review(asked) => review::review(asked, &global.compose(env)?).await?,
        Command::Search(arguments) => search::search(&arguments).await?,
        Command::Add(arguments) => add::add(arguments, global, env).await?,
        Command::Remove { server, json } => add::remove(&server, global, env, json)?,
        Command::Import(arguments) => import::run(&arguments, global, env)?,
        Command::Login(arguments) => login::log_in(&arguments, global, env).await?,
        Command::Logout { server, principal, json } => {
            login::log_out(&server, principal.as_deref(), global, env, json).await?;
        }
    }
    Ok(())
}

fn note_missing_variables(variables: &[(String, String)]) {
    for (variable, value) in variables {
        out::note(format!("Set {variable} in the environment of the host: its value is {value}."));
    }
}

//! `gatehouse servers`: manages the MCP servers.

mod add;
mod import;
mod list;
mod login;
mod review;
mod status;

pub(super) use list::reached_by;
pub(super) use status::states;

use clap::Subcommand;

use super::{CommandError, GlobalArgs};
use crate::{
    config::{Config, ConfigText, Env, edit, trust},
    out,
};

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
    /// Add a server: a program after --, or a URL
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
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(super) async fn run(command: Command, place: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    match command {
        Command::List { json } => list::list(place.config(env)?, env, json)?,
        Command::Status { json } => status::status(&place.compose(env)?, env, json).await,
        Command::Refresh { server, force, json } => {
            return status::refresh(&place.compose(env)?, server.as_deref(), force, json).await;
        }
        Command::Review(asked) => review::review(asked, &place.compose(env)?).await?,
        Command::Add(arguments) => add::add(arguments, place, env)?,
        Command::Remove { server, json } => add::remove(&server, place, env, json)?,
        Command::Import(arguments) => import::run(&arguments, place, env)?,
        Command::Login(arguments) => login::log_in(&arguments, place, env).await?,
        Command::Logout { server, json } => login::log_out(&server, place, env, json).await?,
    }
    Ok(())
}

/// Writes `presets.toml`. A trusted file stays trusted.
fn write(config: &Config, text: &ConfigText, change: edit::ConfigEdit<'_>) -> Result<(), CommandError> {
    let written = change.write()?;
    if let (true, Some(path)) = (config.choice.by_trust, &text.file) {
        trust::add(path, written.as_bytes())?;
    }
    Ok(())
}

fn note_missing_variables(variables: &[(String, String)]) {
    for (variable, stands) in variables {
        out::note(format!("Set {variable} in the environment of the host: its value is {stands}."));
    }
}

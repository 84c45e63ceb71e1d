//! `gatehouse servers …`: the MCP servers behind this host.

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
    /// List servers as they are configured; starts none
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show how servers do in the hosts that run; starts none
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask a server, or all, what they list now
    Refresh {
        /// The server [default: all]
        server: Option<String>,
        /// Write anew what did not change, too
        #[arg(long)]
        force: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what is held back because it changed, and approve it
    Review(review::ReviewArgs),
    /// Add a server: a program behind --, or an address
    Add(add::AddServerArgs),
    /// Remove a server, from presets.toml or from those that were added
    Remove {
        /// The server
        server: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the servers of other clients' files as presets.toml would have them, or write them into it
    Import(import::Arguments),
    /// Log in to a server that wants a login: in a browser, which is opened
    Login(login::LoginArgs),
    /// Forget the login to a server, and have its authorization server forget it too
    Logout {
        /// The server
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

/// Writes presets.toml and says so. Who changes a trusted file by a command trusts what came of it.
fn write(config: &Config, text: &ConfigText, change: edit::ConfigEdit<'_>) -> Result<(), CommandError> {
    let written = change.write()?;
    if let (true, Some(path)) = (config.choice.by_trust, &text.file) {
        trust::add(path, written.as_bytes())?;
    }
    Ok(())
}

/// Says which variables have to be set, on standard error.
fn note_missing_variables(variables: &[(String, String)]) {
    for (variable, stands) in variables {
        out::note(format!("Set {variable} in the environment of the host: its value is {stands}."));
    }
}

//! `gatehouse servers env`: sets the variables that servers need.

use clap::Subcommand;

use super::super::{CommandError, CommandResult, GlobalArgs, OutputFormat, call};
use crate::{
    compose::forget_failed_listings,
    config::{Env, environment_file},
    out,
};

#[derive(Subcommand)]
pub(in crate::cli) enum EnvCommand {
    /// Read the value of a variable from standard input, and write it; an empty value removes it
    Set {
        /// Name of the variable
        name: String,
    },
    /// List the names of the variables in the file
    List(OutputFormat),
}

pub(super) fn run(command: EnvCommand, global: &GlobalArgs, env: &Env) -> CommandResult {
    match command {
        EnvCommand::Set { name } => {
            let text = call::read_text(std::io::stdin().lock())
                .map_err(|error| CommandError::failed(format!("the value cannot be read: {error}")))?
                .ok_or_else(|| {
                    CommandError::usage(format!("the value is longer than {} MiB", call::MAX_TEXT >> 20))
                })?;
            let value = text.trim_end_matches(['\r', '\n']).to_owned();
            let verb = if value.is_empty() { "removed" } else { "set" };
            let file = environment_file::write(&[(name.clone(), value)].into())?;
            // An invalid configuration may be why the variable is set.
            if let Ok(config) = global.config(env) {
                forget_failed_listings(&config.state);
            }
            out::line(format!("{verb} {name} in {}; hosts read it at their next start", file.display()));
        }
        EnvCommand::List(output) => {
            let names: Vec<String> = environment_file::read()?.into_keys().collect();
            output.print(&names, || names.iter().for_each(out::line));
        }
    }
    Ok(())
}

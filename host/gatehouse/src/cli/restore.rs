//! `gatehouse restore`: replaces the data directory with a backup.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{CommandError, GlobalArgs};
use crate::{archive, config::Env, out};

#[derive(Args)]
pub(super) struct Arguments {
    /// File that `gatehouse backup` wrote
    file: PathBuf,
    /// Replace existing data
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    let state = global.config(env)?.state;
    let manifest =
        tokio::task::block_in_place(|| archive::restore_archive(&arguments.file, &state, arguments.force));
    let manifest = manifest?;
    if arguments.json {
        out::json(&json!({
            "state": state,
            "files": manifest.files.len(),
            "databases": manifest.databases,
            "gatehouse": manifest.gatehouse,
            "created_at": manifest.created_at,
        }));
        return Ok(());
    }
    out::line(format!(
        "{}: restored {} files from a backup of gatehouse {}",
        state.display(),
        manifest.files.len(),
        manifest.gatehouse
    ));
    Ok(())
}

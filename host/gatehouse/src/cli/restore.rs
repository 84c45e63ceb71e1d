//! `gatehouse restore`: replaces the data directory with a backup.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use clap::Args;
use gatehouse_core::utc_time::rfc3339;
use gatehouse_stores::DataFile;
use serde_json::json;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat};
use crate::{
    archive::{self, ArchiveManifest},
    config::Env,
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// File that `gatehouse backup` wrote
    file: PathBuf,
    /// Replace existing data
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    // A file that is missing is the first thing to say.
    if let Err(error) = File::open(&arguments.file) {
        return Err(CommandError::usage(format!("{}: cannot be read: {error}", arguments.file.display())));
    }
    let state = global.config(env)?.state;
    let manifest = tokio::task::block_in_place(|| {
        archive::restore_archive(&arguments.file, &state, arguments.force, warn_of_old_keys)
    });
    let ArchiveManifest { files, databases, gatehouse, created_at, .. } = manifest?;
    let files = files.len();
    let report = json!({
        "state": state.display().to_string(),
        "files": files,
        "databases": databases,
        "gatehouse": gatehouse,
        "created_at": created_at,
    });
    arguments.output.print(&report, || {
        let state = state.display();
        out::line(format!("{state}: restored {files} files from a backup of gatehouse {gatehouse}"));
    });
    Ok(())
}

/// Warns about keys that change with the data in `state`.
fn warn_of_old_keys(manifest: &ArchiveManifest, state: &Path) {
    let has_keys = state.join(DataFile::Auth.file()).exists();
    let time = rfc3339(manifest.created_at);
    match (manifest.databases.contains_key(DataFile::Auth.file()), has_keys) {
        (true, true) => out::warn(format!(
            "the API keys become those of {time}: keys that were revoked since then work again, and keys that were created \
             since then do not. Run `gatehouse keys list`."
        )),
        (true, false) => out::warn(format!("the API keys are those of {time}. Run `gatehouse keys list`.")),
        (false, true) => out::warn(
            "the backup has no API keys, so all present keys stop working. Create new ones with `gatehouse keys create NAME`.",
        ),
        (false, false) => {}
    }
}

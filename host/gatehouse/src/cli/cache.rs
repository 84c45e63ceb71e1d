//! `gatehouse cache`: the directory of compiled gates, which can be built again.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};

use clap::Subcommand;
use gatehouse_files::write_atomic;
use gatehouse_sandbox::{
    cache::{self, CacheSize},
    format_bytes,
};
use serde::Serialize;

use super::{CommandError, CommandResult, GlobalArgs, OutputFormat};
use crate::{
    built_in,
    config::{Config, Env},
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Show the size of the cache and its limit
    Size(OutputFormat),
    /// Remove all compiled gates; they are compiled again when needed
    Clean,
    /// Compile the shipped gates into this directory for a package, for every processor of this kind
    #[command(hide = true)]
    Precompile { folder: PathBuf },
}

pub(super) fn run(command: &Command, global: &GlobalArgs, env: &Env) -> CommandResult {
    let config = global.config(env)?;
    match command {
        Command::Size(output) => {
            let size = CacheUsage::measure(&config);
            output.print(&size, || out::line(size.to_string()));
        }
        Command::Clean => {
            let before = CacheSize::from_folder(&config.cache);
            cache::clean(&config.cache).map_err(|error| failed(&config.cache, error))?;
            out::line(format!("removed {} of {}", megabytes(before.bytes), gates(before.components)));
        }
        Command::Precompile { folder } => {
            let failed = |error| failed(folder, error);
            let components = built_in::all().map_err(failed)?;
            let files = cache::for_package(&components).map_err(CommandError::failed)?;
            fs::create_dir_all(folder).map_err(failed)?;
            for (name, content) in &files {
                write_atomic(&folder.join(name), content).map_err(failed)?;
            }
            let bytes = files.iter().map(|(_, content)| content.len() as u64).sum();
            out::line(format!("wrote {} of {}", megabytes(bytes), gates(files.len())));
        }
    }
    Ok(())
}

fn failed(folder: &Path, error: io::Error) -> CommandError {
    CommandError::failed(format!("{}: {error}", folder.display()))
}

#[derive(Serialize)]
pub(super) struct CacheUsage<'a> {
    folder: &'a Path,
    components: usize,
    bytes: u64,
    limit: u64,
}

impl<'a> CacheUsage<'a> {
    pub(super) fn measure(config: &'a Config) -> Self {
        let CacheSize { components, bytes } = CacheSize::from_folder(&config.cache);
        Self { folder: &config.cache, components, bytes, limit: config.cache_size }
    }
}

impl fmt::Display for CacheUsage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, limit) = (megabytes(self.bytes), format_bytes(self.limit));
        let (gates, folder) = (gates(self.components), self.folder.display());
        write!(f, "{bytes} of {gates}, at most {limit} (in {folder})")
    }
}

fn gates(components: usize) -> String {
    format!("{components} compiled gate{}", if components == 1 { "" } else { "s" })
}

pub(super) fn megabytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

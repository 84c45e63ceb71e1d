//! `gatehouse cache size|clean`: the folder of what can be made again.

use std::path::Path;

use clap::Subcommand;
use gatehouse_sandbox::{
    cache::{self, CacheSize},
    shown_bytes,
};
use serde_json::{Value, json};

use super::{Failure, Place};
use crate::{
    config::{Config, Env},
    out,
};

#[derive(Subcommand)]
pub(super) enum Command {
    /// Show how much is kept of compiled gates, and how much may be
    Size {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove all of it; gates are compiled again when they are needed next
    Clean,
}

pub(super) fn run(command: &Command, place: &Place, env: &Env) -> Result<(), Failure> {
    let config = place.config(env)?;
    match command {
        Command::Size { json } => {
            let told = told(&config);
            if *json { out::json(&told) } else { out::line(line(&told)) }
        }
        Command::Clean => {
            let (folder, before) = (&config.cache, CacheSize::of(&config.cache));
            let failed = |error| Failure::Failed(format!("{}: {error}", folder.display()));
            cache::clean(folder).map_err(failed)?;
            out::line(format!("removed {} of {}", megabytes(before.bytes), gates(before.components as u64)));
        }
    }
    Ok(())
}

/// What is kept.
pub(super) fn told(config: &Config) -> Value {
    let CacheSize { components, bytes } = CacheSize::of(&config.cache);
    json!({"folder": config.cache, "components": components, "bytes": bytes, "limit": config.cache_size})
}

/// The same in one line.
pub(super) fn line(told: &Value) -> String {
    let [components, bytes, limit] =
        ["components", "bytes", "limit"].map(|key| told[key].as_u64().unwrap_or_default());
    let folder = Path::new(told["folder"].as_str().unwrap_or_default()).display();
    format!("{} of {}, at most {} (in {folder})", megabytes(bytes), gates(components), shown_bytes(limit))
}

fn gates(components: u64) -> String {
    format!("{components} compiled gate{}", if components == 1 { "" } else { "s" })
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

//! `gatehouse backup`

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{Failure, Place};
use crate::{
    archive,
    config::{Config, Env, KnowledgeEngine},
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// The file to make
    file: PathBuf,
    /// Replace a file that is there
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, place: &Place, env: &Env) -> Result<(), Failure> {
    let config = place.config(env)?;
    let (state, file) = (&config.state, &arguments.file);
    let made = tokio::task::block_in_place(|| archive::make(state, file, arguments.force));
    let made = made.map_err(Failure::Failed)?;
    let elsewhere = elsewhere(&config);
    let manifest = &made.manifest;
    if arguments.json {
        out::json(&json!({
            "file": file,
            "bytes": made.bytes,
            "state": state,
            "files": manifest.files.len(),
            "databases": manifest.databases,
            "left_out": manifest.left_out,
            "elsewhere": elsewhere,
        }));
        return Ok(());
    }
    out::line(format!(
        "{}: {} files of {} in {} bytes",
        file.display(),
        manifest.files.len(),
        state.display(),
        made.bytes
    ));
    for path in &manifest.left_out {
        out::note(format!("left out: {path}"));
    }
    if let Some(elsewhere) = elsewhere {
        out::note(elsewhere);
    }
    Ok(())
}

/// Where the pages are, if they are not in the data folder.
fn elsewhere(config: &Config) -> Option<String> {
    if let Some(index) = &config.knowledge.index_file {
        let index = index.display();
        return Some(format!("KG_INDEX_PATH: where {index} says that the pages are is not part of this"));
    }
    let server = match config.knowledge.engine {
        KnowledgeEngine::Sqlite => return None,
        KnowledgeEngine::Postgres => "PostgreSQL",
        KnowledgeEngine::WeaviateNeo4j => "Neo4j",
    };
    Some(format!("the pages are in {server} and not part of this; use its own backup"))
}

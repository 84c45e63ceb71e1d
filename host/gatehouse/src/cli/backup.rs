//! `gatehouse backup`: copies the data directory into one file.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{CommandError, GlobalArgs};
use crate::{
    archive,
    config::{Config, DocumentsEngine, Env, KnowledgeEngine},
    out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// File to create
    file: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> Result<(), CommandError> {
    let config = global.config(env)?;
    let (state, file) = (&config.state, &arguments.file);
    let made = tokio::task::block_in_place(|| archive::make(state, file, arguments.force));
    let made = made?;
    let elsewhere = external_data(&config);
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
    elsewhere.iter().for_each(out::note);
    Ok(())
}

fn external_data(config: &Config) -> Vec<String> {
    let pages = config.knowledge.index_file.as_ref().map(|index| {
        let index = index.display();
        format!("KG_INDEX_PATH: the backup does not contain the pages that {index} names")
    });
    let server = match config.knowledge.engine {
        KnowledgeEngine::Sqlite => None,
        KnowledgeEngine::Postgres => Some("PostgreSQL"),
        KnowledgeEngine::WeaviateNeo4j => Some("Neo4j"),
    };
    let not_here = |what: &str, server: &str| {
        format!("the {what} are in {server} and not part of the backup; use the backup of {server}")
    };
    let pages = pages.or_else(|| Some(not_here("pages", server?)));
    let documents =
        (config.documents.engine == DocumentsEngine::Postgres).then(|| not_here("documents", "PostgreSQL"));
    pages.into_iter().chain(documents).collect()
}

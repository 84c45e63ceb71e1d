//! `gatehouse backup`: copies the data directory into one file.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::{CommandResult, GlobalArgs, OutputFormat};
use crate::{
    archive::{self, ArchiveSummary},
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
    #[command(flatten)]
    output: OutputFormat,
}

pub(super) fn run(arguments: &Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    let config = global.config(env)?;
    let (state, file) = (&config.state, &arguments.file);
    let summary = tokio::task::block_in_place(|| archive::make(state, file, arguments.force));
    let ArchiveSummary { manifest, bytes } = summary?;
    let (files, elsewhere) = (manifest.files.len(), external_data(&config));
    let report = json!({
        "file": file.display().to_string(),
        "bytes": bytes,
        "state": state.display().to_string(),
        "files": files,
        "databases": manifest.databases,
        "left_out": manifest.left_out,
        "elsewhere": elsewhere,
    });
    arguments.output.print(&report, || {
        out::line(format!("{}: {files} files of {} in {bytes} bytes", file.display(), state.display()));
        manifest.left_out.iter().for_each(|path| out::note(format!("left out: {path}")));
        elsewhere.iter().for_each(out::note);
    });
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
    let not_here = |items: &str, server: &str| {
        format!("the {items} are in {server} and not part of the backup; use the backup of {server}")
    };
    let pages = pages.or_else(|| Some(not_here("pages", server?)));
    let documents =
        (config.documents.engine == DocumentsEngine::Postgres).then(|| not_here("documents", "PostgreSQL"));
    pages.into_iter().chain(documents).collect()
}

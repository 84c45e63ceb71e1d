//! `gatehouse map`: draws the access of presets, and the links between pages.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use gatehouse_stores::WikiRoots;

use super::{CommandError, CommandResult, GlobalArgs};
use crate::{
    compose,
    config::{Env, added::FileServerStore},
    map, out,
};

#[derive(Args)]
pub(super) struct Arguments {
    /// Write a self-contained HTML file
    #[arg(long, value_name = "FILE", conflicts_with = "dot")]
    html: Option<PathBuf>,
    /// Print Graphviz input
    #[arg(long)]
    dot: bool,
    /// Only this preset; may be repeated
    #[arg(long = "preset", value_name = "PRESET")]
    presets: Vec<String>,
    /// Include the links between pages of the knowledge graph
    #[arg(long)]
    wiki: bool,
}

pub(super) async fn run(arguments: Arguments, global: &GlobalArgs, env: &Env) -> CommandResult {
    if arguments.html.is_none() && !arguments.dot {
        let message = "no output selected; use --html FILE for a browser, or --dot for Graphviz";
        return Err(CommandError::usage(message));
    }
    let composition = global.compose_without_servers(env)?;
    let config = &composition.config;
    for name in &arguments.presets {
        config.select(Some(name), env)?;
    }
    let added = FileServerStore::new(Arc::clone(config), env.clone()).snapshot();
    added.problems.iter().for_each(out::error);
    let servers = config.servers.declared.iter().chain(&added.servers);
    let servers: Vec<_> = servers.map(|(name, server)| (name.as_str(), server)).collect();
    let mut maps = vec![map::access(&composition, &arguments.presets, &servers, env).await];
    if arguments.wiki {
        let embedder = Arc::clone(&composition.models.embedder);
        let graph = compose::knowledge(config.knowledge.chosen()?, WikiRoots::Any, &embedder)?;
        let pages = graph.linked().await;
        graph.close().await;
        maps.push(map::wiki(&pages?));
    }
    let Some(file) = arguments.html else {
        out::line(map::dot(&maps).trim_end());
        return Ok(());
    };
    let from = config.file.as_ref().map_or("the built-in presets".into(), |file| file.display().to_string());
    let about =
        format!("Gatehouse {}, from {from}. This file contains no secret values.", env!("CARGO_PKG_VERSION"));
    let page = map::html("Gatehouse: presets and their access", &about, &maps);
    gatehouse_files::write_atomic(&file, page.as_bytes())
        .map_err(|reason| CommandError::failed(format!("{} cannot be written: {reason}", file.display())))?;
    let sizes: Vec<String> =
        maps.iter().map(|map| format!("{} boxes and {} lines", map.nodes.len(), map.lines.len())).collect();
    out::line(format!("wrote {}: {}", file.display(), sizes.join("; ")));
    Ok(())
}

//! A note for empty graphs, with the data directories that may hold the pages.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use gatehouse_core::ports::Embedder;
use gatehouse_stores::{WikiKnowledge, WikiRoots};

use crate::{
    compose,
    config::{Config, EngineConfig, locate},
    out,
};

pub(super) async fn note_if_empty(knowledge: &WikiKnowledge, config: &Config, embedder: &Arc<dyn Embedder>) {
    // If the engine is down, the command itself has failed.
    let Ok(health) = knowledge.health().await else { return };
    if health.items > 0 {
        return;
    }
    out::note(format!(
        "the knowledge graph in {} holds no pages yet; `gatehouse kg index DIR` indexes a wiki",
        health.address
    ));
    for folder in other_folders(config) {
        let pages = pages_in(&folder, embedder).await;
        if pages > 0 {
            let folder = folder.display();
            out::note(format!("{folder} holds {pages} pages; GATEHOUSE_STATE={folder} selects it"));
        }
    }
}

/// Returns other data directories: the configured one, the default one, and `cargo xtask run`'s in a checkout.
fn other_folders(config: &Config) -> BTreeSet<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let checkouts = here.ancestors().map(|folder| folder.join("target/state"));
    let candidates = [config.state_in_file.clone(), Some(locate::data_home())];
    let own_folder = config.state.canonicalize().unwrap_or_else(|_| config.state.clone());
    let folders =
        candidates.into_iter().flatten().chain(checkouts).filter_map(|folder| folder.canonicalize().ok());
    folders.filter(|folder| *folder != own_folder).collect()
}

async fn pages_in(folder: &Path, embedder: &Arc<dyn Embedder>) -> u32 {
    let database = folder.join("knowledge.db");
    let engine = EngineConfig::Sqlite { database };
    let Ok(other) = compose::knowledge((engine, None), WikiRoots::Only(Vec::new()), embedder) else {
        return 0;
    };
    // Only reads the database, without a migration.
    let pages = other.health().await.map_or(0, |health| health.items);
    other.close().await;
    pages
}

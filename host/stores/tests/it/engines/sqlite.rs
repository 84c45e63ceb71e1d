//! SQLite: a file in a temporary directory.

mod artifacts;
mod audit;
mod crash;
mod documents;
mod keys;
mod kv;
mod ledger;
mod tools;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use gatehouse_core::{
    outcome::FaultKind,
    ports::{KnowledgeGraph as _, knowledge::PageFilters},
};
use gatehouse_stores::{KnowledgeConfig, WikiKnowledge};
use tempfile::TempDir;

use super::{Fixture, Setup};
use crate::{
    behaviours::behaviours,
    embedder::{TestEmbedder, Vice},
    support::{House, clock, index},
};

pub(crate) struct Sqlite {
    dir: TempDir,
}

impl Sqlite {
    fn database(&self) -> PathBuf {
        database(self.dir.path())
    }

    #[cfg(feature = "chroma")]
    pub(crate) fn folder(&self) -> &Path {
        self.dir.path()
    }
}

fn database(dir: &Path) -> PathBuf {
    dir.join("state/knowledge.db")
}

fn graph_in(dir: &Path, setup: Setup) -> WikiKnowledge {
    let Setup { roots, default_root, embedder } = setup;
    let config = KnowledgeConfig { database: database(dir), roots, default_root };
    WikiKnowledge::sqlite(config, clock(), embedder)
}

impl Fixture for Sqlite {
    const NAME: &'static str = "sqlite";

    async fn fresh() -> Option<Self> {
        Some(Self { dir: tempfile::tempdir().unwrap() })
    }

    fn open(&self, setup: Setup) -> WikiKnowledge {
        graph_in(self.dir.path(), setup)
    }

    fn address(&self) -> String {
        self.database().display().to_string()
    }
}

behaviours!(Sqlite);

async fn house() -> House<Sqlite> {
    House::small(Sqlite::fresh().await.unwrap())
}

#[tokio::test]
async fn asking_after_its_health_makes_no_database() {
    let house = house().await;
    let graph = house.open();
    assert_eq!(graph.health().await.unwrap().schema, None);
    assert!(!house.engine.database().exists());
    index(&graph, &house.wiki()).await;
    assert!(graph.health().await.unwrap().schema.is_some());
}

#[tokio::test]
async fn a_database_that_cannot_be_opened_is_unavailable_and_named() {
    let house = house().await;
    let database = house.engine.database();
    std::fs::create_dir_all(&database).unwrap();
    let graph = house.open();
    for fault in [graph.page("x").await.unwrap_err(), graph.health().await.unwrap_err()] {
        assert_eq!(fault.kind, FaultKind::Unavailable);
        let start = format!("knowledge engine 'sqlite' at {}: ", database.display());
        assert!(fault.message.starts_with(&start), "{}", fault.message);
    }
    std::fs::remove_dir(&database).unwrap();
    assert!(graph.page("x").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_never_answers_costs_a_search_three_seconds() {
    let house = house().await;
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Silent);
    let graph = house.open_by_meaning(&embedder);
    index(&graph, &house.wiki()).await;
    let begin = tokio::time::Instant::now();
    let result = graph.search("dough", &PageFilters::default(), 5).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(4) && !result.hits.is_empty());
    assert!(result.note.unwrap().contains("did not respond within 3 s"));
}

//! A process that is killed between Neo4j and Weaviate: the next one makes the missing vectors.
#![allow(clippy::print_stdout)] // the child reports its progress

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use gatehouse_core::ports::{KnowledgeGraph as _, knowledge::IndexOptions};
use gatehouse_stores::{WeaviateNeo4jConfig, WikiKnowledge, WikiRoots};

use super::{all_seen, fake::Mood, house, impatient};
use crate::{
    embedder::TestEmbedder,
    support::{clock, counts, index},
};

const CHILD: &str = "GATEHOUSE_TEST_HALVES";

#[tokio::test]
async fn vectors_that_a_killed_process_did_not_store_are_made_by_the_next_one() {
    let Some(house) = house().await else { return };
    let config = house.engine.config();
    // Kill the process when the pages are in Neo4j, but not in Weaviate.
    house.engine.fake.mood(Some(("batch", Mood::Silent)));
    let place =
        [&config.weaviate_url, &config.neo4j_uri, &house.engine.database.name].map(String::as_str).join(" ");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "engines::weaviate_neo4j::crash::child_that_indexes", "--nocapture"])
        .env(CHILD, format!("{place} {}", house.wiki().display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    tokio::task::spawn_blocking(move || lines.any(|line| line.unwrap().starts_with("read"))).await.unwrap();
    house.engine.fake.heard("batch", 1).await;
    child.kill().unwrap();
    child.wait().unwrap();
    house.engine.fake.mood(None);

    let graph = house.engine.with_model(TestEmbedder::new("test/one", 64), impatient);
    assert_eq!(graph.stats().await.unwrap().pages, 5);
    all_seen(&graph).await;
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
    let [(_, objects, vectors)] = house.engine.fake.collections()[..] else { panic!("one collection") };
    assert_eq!((objects, vectors), (5, 5));
}

/// The child process that the test above starts and kills.
#[tokio::test]
async fn child_that_indexes() {
    let Ok(arguments) = std::env::var(CHILD) else { return };
    let mut words = arguments.split(' ').map(str::to_owned);
    let mut next = || words.next().unwrap();
    let config = WeaviateNeo4jConfig {
        weaviate_url: next(),
        weaviate_api_key: None,
        neo4j_uri: next(),
        neo4j_user: "root".into(),
        neo4j_password: gatehouse_core::http::Secret::new(super::PASSWORD),
        neo4j_database: Some(next()),
        timing: Default::default(),
    };
    let wiki = PathBuf::from(next());
    let model = TestEmbedder::new("test/one", 64);
    let graph = WikiKnowledge::weaviate_neo4j(&config, WikiRoots::Any, None, clock(), Some(model)).unwrap();
    let progress = |done, total| {
        if done == total {
            println!("read");
        }
    };
    graph.index(Some(wiki), IndexOptions::default(), &progress).await.unwrap();
    graph.wait_for_vectors(Duration::from_secs(60)).await;
}

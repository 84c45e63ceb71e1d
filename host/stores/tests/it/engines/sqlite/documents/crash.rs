//! A process that is killed while it indexes leaves complete batches and a usable database.
#![allow(clippy::print_stdout)] // the child reports its progress

use std::path::PathBuf;

use gatehouse_core::ports::{
    DocumentReader as _,
    documents::{DocumentStore as _, NewFile, SearchMode},
};
use gatehouse_stores::DocumentLibrary;

use super::SqliteDocuments;
use crate::{
    document_behaviours::{file, put},
    engines::{DocumentFixture as _, Fixture as _},
    support::{clock, process::TestProcess},
};

const CHILD: &str = "GATEHOUSE_TEST_CRASH_DOCUMENTS";

/// Files of a batch. Each contains the number of its round.
const BATCH: usize = 20;

fn batch(round: usize) -> Vec<NewFile> {
    let text = format!("round{round} {}", "word ".repeat(2_000));
    (0..BATCH).map(|n| file(&format!("{n}.md"), &text)).collect()
}

#[tokio::test]
async fn a_killed_indexing_leaves_whole_batches_and_goes_on() {
    let place = SqliteDocuments::fresh().await.unwrap();
    for step in 1..=6 {
        let mut child = TestProcess::start(
            "engines::sqlite::documents::crash::child_that_indexes_until_killed",
            [(CHILD, place.database())],
        );
        child.wait_for_lines("round", step);
        child.kill("");
        let library = place.open_documents(None);
        let mut rounds = Vec::new();
        for head in library.heads("shelf").await.unwrap() {
            let text = library.read("shelf", &head.path, None).await.unwrap().text;
            rounds.push(text.split(' ').next().unwrap().to_owned());
        }
        rounds.dedup();
        assert_eq!(rounds.len(), 1, "parts of two batches: {rounds:?}");
        let found = library.search("shelf", &rounds[0], SearchMode::Text, 50).await.unwrap();
        assert_eq!(found.hits.len(), BATCH);
    }
    let library = place.open_documents(None);
    library.change("shelf", batch(1_000_000), vec![]).await.unwrap();
    let found = library.search("shelf", "round1000000", SearchMode::Text, 50).await.unwrap();
    assert_eq!(found.hits.len(), BATCH);
}

/// The child process that the test above starts and kills.
#[tokio::test]
async fn child_that_indexes_until_killed() {
    let Some(database) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let library = DocumentLibrary::sqlite(database, clock(), None);
    put(&library, "shelf").await;
    for round in 0.. {
        library.change("shelf", batch(round), vec![]).await.unwrap();
        println!("round {round}");
    }
}

//! A process that is killed while it writes leaves a usable database.
#![allow(clippy::print_stdout)] // the child reports its progress

use std::path::PathBuf;

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{IndexOptions, PageChanges, PageFilters},
};
use gatehouse_stores::WikiRoots;

use super::{Setup, graph_in, house};
use crate::support::{counts, index, page, process::TestProcess};

const CHILD: &str = "GATEHOUSE_TEST_CRASH_DIR";
const WIKI: &str = "GATEHOUSE_TEST_CRASH_WIKI";
const EDITOR: &str = "GATEHOUSE_TEST_CRASH_EDITOR";

const ID: &str = "Workflow/Acme_Bread_Baking";
const FILE: &str = "workflows/Acme_Bread_Baking.md";

#[tokio::test]
async fn a_killed_indexing_leaves_a_database_that_goes_on() {
    let house = house().await;
    for n in 0..100 {
        house.write(&format!("principles/P{n}.md"), &format!("# Principle: P{n}\n{}", "word ".repeat(500)));
    }
    for round in 1..=8 {
        let mut child = TestProcess::start(
            "engines::sqlite::crash::child_that_indexes_until_killed",
            [(CHILD, house.engine.dir.path().to_owned()), (WIKI, house.wiki())],
        );
        // Kill at different times: while reading, before storing, and in later runs.
        child.wait_for_lines("step", round * 37);
        child.kill("");
        let pages = house.open().stats().await.unwrap().pages;
        assert!(pages == 0 || pages == 105, "part of a run was stored: {pages} pages");
    }
    let graph = house.open();
    let report = index(&graph, &house.wiki()).await;
    assert_eq!(report.added + report.updated + report.unchanged, 105);
    assert_eq!(index(&graph, &house.wiki()).await.unchanged, 105);
}

/// The child process that the test above starts and kills.
#[tokio::test]
async fn child_that_indexes_until_killed() {
    let Some(dir) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let default_root = std::env::var_os(WIKI).map(PathBuf::from);
    let graph = graph_in(&dir, Setup { default_root, ..Setup::of(WikiRoots::Any) });
    loop {
        let options = IndexOptions { clear_existing: true, ..IndexOptions::default() };
        graph.index(None, options, &|done, _| println!("step {done}")).await.unwrap();
    }
}

#[tokio::test]
async fn an_edit_whose_process_is_killed_is_completed_by_the_next_reader_or_editor() {
    let house = house().await;
    index(&house.open(), &house.wiki()).await;
    let mut apart = 0;
    for round in 0..200 {
        let before = house.read(FILE);
        let mut child = TestProcess::start(
            "engines::sqlite::crash::child_that_edits_until_killed",
            [(EDITOR, house.engine.dir.path().to_owned())],
        );
        // The file has just changed, but its page is not stored yet.
        while house.read(FILE) == before {
            assert!(child.child.try_wait().unwrap().is_none(), "the editor has failed");
            std::thread::yield_now();
        }
        child.kill("");
        let graph = house.open();
        let note = graph.search("bread", &PageFilters::default(), 1).await.unwrap().note;
        apart += u32::from(note.is_some_and(|note| note.contains("changed after indexing")));
        if round % 2 == 0 {
            let overview = page(&graph, ID).await.overview;
            assert!(house.read(FILE).contains(&overview), "{overview}: {}", house.read(FILE));
        }
        graph.patch(ID, overview(format!("Round {round}.")), None, true).await.unwrap();
        assert!(house.read(FILE).contains(&format!("Round {round}.")));
        if apart >= 4 && round >= 8 {
            break;
        }
    }
    assert!(apart > 0, "no process was killed between the file and the page");
    assert_eq!(counts(&index(&house.open(), &house.wiki()).await), (0, 0, 5, 0));
    let names = std::fs::read_dir(house.wiki().join("workflows")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["Acme_Bread_Baking.md"], "indexing removes what killed processes left");
}

fn overview(text: String) -> PageChanges {
    PageChanges { overview: Some(text), ..PageChanges::default() }
}

/// The child process that the test above starts and kills.
#[tokio::test]
async fn child_that_edits_until_killed() {
    let Some(dir) = std::env::var_os(EDITOR).map(PathBuf::from) else { return };
    let graph = graph_in(&dir, Setup::of(WikiRoots::Any));
    let process = std::process::id();
    for edit in 0.. {
        graph.patch(ID, overview(format!("Edit {edit} of {process}.")), None, true).await.unwrap();
    }
}

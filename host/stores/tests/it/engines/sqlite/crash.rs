//! A process that is killed while it writes leaves a database that opens and goes on.
#![allow(clippy::print_stdout)] // how the child tells its parent how far it is

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use gatehouse_core::ports::{Knowledge as _, knowledge::IndexOptions};
use gatehouse_stores::WikiRoots;

use super::{Setup, graph_in, house};
use crate::support::index;

const CHILD: &str = "GATEHOUSE_TEST_CRASH_DIR";
const WIKI: &str = "GATEHOUSE_TEST_CRASH_WIKI";

#[tokio::test]
async fn a_killed_indexing_leaves_a_database_that_goes_on() {
    let house = house().await;
    for n in 0..100 {
        house.write(&format!("principles/P{n}.md"), &format!("# Principle: P{n}\n{}", "word ".repeat(500)));
    }
    for round in 1..=8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "engines::sqlite::crash::child_that_indexes_for_ever", "--nocapture"])
            .env(CHILD, house.engine.dir.path())
            .env(WIKI, house.wiki())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Another moment each time: while reading, between reading and storing, in a later run.
        let seen =
            lines.map_while(Result::ok).filter(|line| line.starts_with("step")).take(round * 37).count();
        assert_eq!(seen, round * 37);
        child.kill().unwrap();
        child.wait().unwrap();
        let pages = house.open().stats().await.unwrap().pages;
        assert!(pages == 0 || pages == 105, "a part of a run was kept: {pages} pages");
    }
    let graph = house.open();
    let report = index(&graph, &house.wiki()).await;
    assert_eq!(report.added + report.updated + report.unchanged, 105);
    assert_eq!(index(&graph, &house.wiki()).await.unchanged, 105);
}

/// Not a promise of its own: the process that the test above starts and kills.
#[tokio::test]
async fn child_that_indexes_for_ever() {
    let Some(dir) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let default_root = std::env::var_os(WIKI).map(PathBuf::from);
    let graph = graph_in(&dir, Setup { default_root, ..Setup::of(WikiRoots::Any) });
    loop {
        let options = IndexOptions { clear_existing: true, ..IndexOptions::default() };
        graph.index(None, options, &|done, _| println!("step {done}")).await.unwrap();
    }
}

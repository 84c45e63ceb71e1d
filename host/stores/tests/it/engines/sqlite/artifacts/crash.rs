//! A process that is killed while it stores texts leaves complete ones, including all that it acknowledged.
#![allow(clippy::print_stdout)] // the child reports its progress

use std::path::PathBuf;

use gatehouse_core::ports::ArtifactService as _;
use gatehouse_stores::ArtifactStore;

use super::SqliteArtifacts;
use crate::{
    artifact_behaviours::{LOCAL, draft, keeping::noise, limits, shelf},
    engines::Fixture as _,
    support::{clock, process::TestProcess},
};

const CHILD: &str = "GATEHOUSE_TEST_CRASH_ARTIFACTS";

fn text(round: u64) -> String {
    noise(round, 200_000)
}

#[tokio::test]
async fn a_killed_host_loses_no_acknowledged_artifact() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    for step in 1..=5 {
        let mut child = TestProcess::start(
            "engines::sqlite::artifacts::crash::child_that_stores_until_killed",
            [(CHILD, place.database())],
        );
        let kept = child.wait_for_lines("kept ", step * 2);
        child.kill("");
        let shelf = shelf(&place);
        for (round, id) in (0..).zip(&kept) {
            assert!(shelf.text(id).await == text(round), "round {round}");
        }
        for id in shelf.recent(&[], "").await {
            assert_eq!(shelf.text(&id).await.len(), 200_000);
        }
        assert_eq!(shelf.find("about bread").await.len(), kept.len().min(5));
    }
}

/// The child process that the test above starts and kills.
#[tokio::test]
async fn child_that_stores_until_killed() {
    let Some(database) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let store = ArtifactStore::sqlite(database, limits(1 << 30), clock(), None);
    for round in 0.. {
        let kept = store.put(&LOCAL, draft(&text(round), &format!("about bread {round}"))).await.unwrap();
        println!("kept {}", kept.id);
    }
}

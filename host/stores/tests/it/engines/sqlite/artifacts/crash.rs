//! A process that is killed while it stores texts leaves complete ones, including all that it acknowledged.
#![allow(clippy::print_stdout)] // the child reports its progress

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Command, Stdio},
};

use gatehouse_core::ports::ArtifactService as _;
use gatehouse_stores::ArtifactStore;

use super::SqliteArtifacts;
use crate::{
    artifact_behaviours::{LOCAL, draft, keeping::noise, limits, shelf},
    engines::Fixture as _,
    support::clock,
};

const CHILD: &str = "GATEHOUSE_TEST_CRASH_ARTIFACTS";

fn text(round: u64) -> String {
    noise(round, 200_000)
}

#[tokio::test]
async fn a_killed_host_loses_no_acknowledged_artifact() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    for step in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "engines::sqlite::artifacts::crash::child_that_stores_until_killed",
                "--nocapture",
            ])
            .env(CHILD, place.database())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let kept =
            lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("kept ").map(str::to_owned));
        let kept: Vec<String> = kept.take(step * 2).collect();
        assert_eq!(kept.len(), step * 2);
        child.kill().unwrap();
        child.wait().unwrap();
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

//! Artifacts on SQLite.

mod crash;

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::{
    outcome::FaultKind,
    ports::{ArtifactService as _, Clock, Embedder, artifacts::ArtifactPart},
};
use gatehouse_stores::{ArtifactLimits, ArtifactStore, WikiKnowledge};
use rusqlite::Connection;

use super::{Setup, Sqlite};
use crate::{
    artifact_behaviours::{HOUR, LOCAL, artifact_behaviours, draft, keeping::noise, shelf},
    engines::{ArtifactFixture, Fixture},
};

struct SqliteArtifacts(Sqlite);

impl SqliteArtifacts {
    fn database(&self) -> PathBuf {
        self.0.dir.path().join("state/artifacts.db")
    }

    fn bytes(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.database().parent().unwrap()).unwrap();
        files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
    }
}

impl Fixture for SqliteArtifacts {
    const NAME: &'static str = "sqlite";

    async fn fresh() -> Option<Self> {
        Some(Self(Sqlite::fresh().await?))
    }

    fn open(&self, setup: Setup) -> WikiKnowledge {
        self.0.open(setup)
    }

    fn address(&self) -> String {
        self.database().display().to_string()
    }
}

impl ArtifactFixture for SqliteArtifacts {
    fn open_artifacts(
        &self,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> ArtifactStore {
        ArtifactStore::sqlite(self.database(), limits, clock, embedder)
    }
}

artifact_behaviours!(SqliteArtifacts);

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test]
async fn asking_after_its_health_and_sweeping_make_no_database() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    let shelf = shelf(&place);
    assert_eq!(shelf.store.health().await.unwrap().schema, None);
    assert_eq!(shelf.store.sweep().await, Ok(0));
    assert!(!place.database().exists());
    shelf.put(draft("x", "")).await;
    let health = shelf.store.health().await.unwrap();
    assert_eq!((health.engine, health.schema, health.address), ("sqlite", Some((101, 101)), place.address()));
}

#[tokio::test]
async fn swept_artifacts_leave_no_trace_and_free_their_space() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    let shelf = shelf(&place);
    let stays = shelf.put(draft("stays", "unforgettable")).await.id;
    let pin = gatehouse_core::ports::artifacts::ArtifactChanges { pinned: Some(true), ..Default::default() };
    shelf.store.change(&LOCAL, &stays, pin).await.unwrap();
    for n in 0..40 {
        shelf.put(draft(&noise(n, 100_000), &format!("zebraword and confidential{n}"))).await;
    }
    assert!(holds(&place.bytes(), "confidential7"));
    let full = place.bytes().len();
    assert!(full > 2_000_000);
    shelf.clock.advance(3 * HOUR);
    assert_eq!(shelf.store.sweep().await, Ok(40));
    let left = place.bytes();
    assert!(left.len() < full / 5, "{} of {full}", left.len());
    for word in ["confidential", "zebraword"] {
        assert!(!holds(&left, word), "{word}");
    }
    assert!(holds(&left, "unforgettable"));
    assert_eq!(shelf.text(&stays).await, "stays");
}

#[tokio::test]
async fn texts_whose_ids_would_be_the_same_get_longer_ones() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    let shelf = shelf(&place);
    let first = shelf.put(draft("first", "")).await.id;
    // Force the collision: finding two texts with twelve equal digits would take days.
    let db = Connection::open(place.database()).unwrap();
    let digits = shelf.put(draft("second", "")).await.id;
    shelf.store.delete(&LOCAL, &digits).await.unwrap();
    db.execute("UPDATE artifact SET id = ?1 WHERE id = ?2", [&digits, &first]).unwrap();
    let second = shelf.put(draft("second", "")).await.id;
    assert!(second.starts_with(&digits) && second.len() == digits.len() + 4, "{second}");
    assert_eq!((shelf.text(&digits).await, shelf.text(&second).await), ("first".into(), "second".into()));
    assert_eq!(shelf.put(draft("second", "")).await.id, second);
    shelf.clock.advance(3 * HOUR);
    assert_eq!(shelf.put(draft("second", "")).await.id, digits);
}

#[tokio::test]
async fn damage_is_reported_and_other_artifacts_are_readable() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    let shelf = shelf(&place);
    let damaged = shelf.put(draft(&noise(1, 10_000), "")).await.id;
    let intact = shelf.put(draft("intact", "")).await.id;
    let db = Connection::open(place.database()).unwrap();
    db.execute(
        "UPDATE artifact_block SET packed = (SELECT packed FROM artifact_block WHERE text = 2) WHERE text = 1",
        [],
    )
    .unwrap();
    for part in [ArtifactPart::Whole, ArtifactPart::Pointer(String::new())] {
        let fault = shelf.store.read(&LOCAL, &damaged, &part).await.unwrap_err();
        assert!(fault.message.contains("does not match its digest") && !fault.retryable, "{fault}");
    }
    assert_eq!(shelf.text(&intact).await, "intact");
}

#[tokio::test]
async fn a_database_that_cannot_be_opened_is_unavailable_and_named() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    std::fs::create_dir_all(place.database()).unwrap();
    let shelf = shelf(&place);
    let fault = shelf.store.put(&LOCAL, draft("x", "")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable);
    let start = format!("artifact store 'sqlite' at {}: ", place.address());
    assert!(fault.message.starts_with(&start), "{}", fault.message);
    std::fs::remove_dir(place.database()).unwrap();
    shelf.put(draft("x", "")).await;
}

#[tokio::test]
async fn newer_and_older_databases_are_refused_and_not_touched() {
    let place = SqliteArtifacts::fresh().await.unwrap();
    let old = shelf(&place);
    old.put(draft("x", "")).await;
    old.store.close().await;
    // The header stores the schema version at byte 60.
    let mut bytes = std::fs::read(place.database()).unwrap();
    for (version, reason) in [(999_u32, "version 999 is newer than"), (2, "version 2 is from before")] {
        bytes[60..64].copy_from_slice(&version.to_be_bytes());
        std::fs::write(place.database(), &bytes).unwrap();
        let new = shelf(&place);
        let fault = new.store.put(&LOCAL, draft("y", "")).await.unwrap_err();
        assert!(fault.message.contains(reason), "{fault}");
        assert!(new.store.sweep().await.is_err());
        new.store.close().await;
        assert_eq!(std::fs::read(place.database()).unwrap(), bytes);
    }
}

//! Expiry of artifacts.

use std::{slice::from_ref, sync::Arc, time::Duration};

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        ArtifactService as _,
        artifacts::{ArtifactChanges, ArtifactDraft, ArtifactPart},
    },
};

use super::{HOUR, LOCAL, LONG, draft, keeping::noise, shelf, tagged};
use crate::engines::ArtifactFixture;

pub(crate) async fn expired_artifacts_are_missing_for_every_method<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let kept = shelf.put(tagged("short", "about bread", &["t"])).await;
    let longer = ArtifactDraft { ttl: Some(Duration::MAX), ..tagged("long", "about bread", &["t"]) };
    let longer = shelf.put(longer).await.id;
    shelf.clock.advance(3 * HOUR - 1);
    assert_eq!(shelf.find("bread").await.len(), 2);
    shelf.clock.advance(1);
    assert_eq!(shelf.stored().await, 2);
    assert_eq!(shelf.find("bread").await, from_ref(&longer));
    assert_eq!(shelf.recent(&["t"], "").await, from_ref(&longer));
    assert_eq!(shelf.info(&kept.id).await, None);
    assert_eq!(
        shelf.store.read(&LOCAL, &kept.id, &ArtifactPart::Whole).await.unwrap_err().kind,
        FaultKind::NotFound
    );
    let pin = ArtifactChanges { pinned: Some(true), ..ArtifactChanges::default() };
    assert_eq!(shelf.store.change(&LOCAL, &kept.id, pin).await.unwrap_err().kind, FaultKind::NotFound);
    assert_eq!(shelf.store.delete(&LOCAL, &kept.id).await, Ok(false));
    let again = shelf.put(draft("short", "")).await;
    assert_eq!((&again.id, again.summary, again.tags.len()), (&kept.id, None, 0));
    assert_eq!(again.created, kept.created + 3 * HOUR);
    assert_eq!(shelf.text(&longer).await, "long");
}

pub(crate) async fn what_is_pinned_stays_and_time_begins_anew_without_the_pin<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let id = shelf.put(draft("x", "")).await.id;
    let pin = |pinned: bool| ArtifactChanges { pinned: Some(pinned), ..ArtifactChanges::default() };
    assert_eq!(shelf.store.change(&LOCAL, &id, pin(true)).await.unwrap().expires, None);
    shelf.clock.advance(100 * HOUR);
    assert_eq!((shelf.store.sweep().await, shelf.text(&id).await), (Ok(0), "x".into()));
    assert_eq!(shelf.put(draft("x", "again")).await.expires, None);
    let freed = shelf.store.change(&LOCAL, &id, pin(false)).await.unwrap();
    assert_eq!(freed.expires, Some(freed.created + 103 * HOUR));
    shelf.clock.advance(3 * HOUR);
    assert_eq!((shelf.info(&id).await, shelf.store.sweep().await, shelf.stored().await), (None, Ok(1), 0));
}

pub(crate) async fn a_sweep_removes_what_is_past_its_time_and_nothing_else<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    // A sweep does not create a database.
    assert_eq!(shelf.store.sweep().await, Ok(0));
    for n in 0..700 {
        shelf.put(draft(&format!("{n} {}", noise(n, 400)), "about bread")).await;
    }
    shelf.clock.advance(HOUR);
    let stays = shelf.put(draft("stays", "about bread")).await.id;
    let full = shelf.store.health().await.unwrap().bytes;
    shelf.clock.advance(2 * HOUR);
    assert_eq!((shelf.store.sweep().await, shelf.store.sweep().await), (Ok(700), Ok(0)));
    assert_eq!((shelf.stored().await, shelf.find("bread").await), (1, vec![stays.clone()]));
    assert_eq!(shelf.text(&stays).await, "stays");
    let left = shelf.store.health().await.unwrap().bytes;
    assert!(left < full / 2, "{left} of {full}");
}

pub(crate) async fn the_task_sweeps_at_once_and_ends_with_its_handle<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    shelf.put(draft("x", "")).await;
    shelf.clock.advance(3 * HOUR);
    let sweeper = shelf.store.start_sweeping(LONG);
    let end = std::time::Instant::now() + LONG;
    while shelf.stored().await > 0 {
        assert!(std::time::Instant::now() < end, "nothing is swept");
    }
    drop(sweeper);
    while Arc::strong_count(&shelf.store) > 1 {
        assert!(std::time::Instant::now() < end, "the task lives on");
        tokio::task::yield_now().await;
    }
}

//! Isolation of artifacts between owners.

use std::slice::from_ref;

use gatehouse_core::{
    call::Principal,
    outcome::FaultKind,
    ports::{
        ArtifactService as _,
        artifacts::{ArtifactChanges, ArtifactDraft, ArtifactFilter, ArtifactPart},
    },
};

use super::{LOCAL, draft, keeping::noise, named, shelf, shelf_by_meaning, shelf_with, tagged};
use crate::{embedder::TestEmbedder, engines::ArtifactFixture};

pub(crate) async fn nothing_goes_from_one_owner_to_another<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&engine, &embedder);
    let (ann, bob) = (named("ann"), named("bob"));
    let store = &shelf.store;
    let kept = store.put(&ann, tagged("ann's text", "about yeast", &["t"])).await.unwrap();
    let shared = store.put(&bob, draft("both have it", "of bob")).await.unwrap();
    assert_eq!(store.put(&ann, draft("both have it", "of ann")).await.unwrap().id, shared.id);
    assert!(store.wait_for_vectors(super::LONG).await);
    for other in [&bob, &LOCAL, &named(""), &named("ann "), &named("Ann")] {
        assert_eq!(store.info(other, from_ref(&kept.id)).await.unwrap(), [None]);
        let unknown = store.read(other, "art-000000000000", &ArtifactPart::Whole).await.unwrap_err();
        let fault = store.read(other, &kept.id, &ArtifactPart::Whole).await.unwrap_err();
        assert_eq!(fault.message, unknown.message.replace("art-000000000000", &kept.id));
        let changes = ArtifactChanges { pinned: Some(true), ..ArtifactChanges::default() };
        assert_eq!(store.change(other, &kept.id, changes).await.unwrap_err().kind, FaultKind::NotFound);
        assert_eq!(store.delete(other, &kept.id).await, Ok(false));
        let filter = ArtifactFilter { tags: vec!["t".into()], words: String::new() };
        assert_eq!(store.recent(other, &filter, 5).await.unwrap(), []);
        for query in ["yeast", "leaven", "ann"] {
            assert_eq!(store.search(other, query, 5).await.unwrap(), [], "{query}");
        }
    }
    assert_eq!(store.search(&ann, "leaven", 5).await.unwrap()[0].artifact.id, kept.id);
    // A shared text has separate metadata per owner.
    let summary = async |owner: &Principal| {
        store.info(owner, from_ref(&shared.id)).await.unwrap().pop().flatten().unwrap().summary.unwrap()
    };
    assert_eq!((summary(&ann).await, summary(&bob).await), ("of ann".into(), "of bob".into()));
    assert_eq!(store.info(&ann, from_ref(&kept.id)).await.unwrap(), [Some(kept)]);
}

pub(crate) async fn no_name_means_the_local_owner<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    shelf.put(draft("local", "local")).await;
    for name in ["local", "", "Local", "named:local"] {
        let all = ArtifactFilter::default();
        assert_eq!(shelf.store.recent(&named(name), &all, 5).await.unwrap(), []);
    }
}

pub(crate) async fn the_owner_that_holds_the_most_makes_room<F: ArtifactFixture>(engine: F) {
    let probe = shelf(&engine);
    let (ann, bob) = (named("ann"), named("bob"));
    let text = |n: u64| draft(&noise(n, 40_000), "");
    let pinned = probe.store.put(&ann, text(0)).await.unwrap();
    let keep = ArtifactChanges { pinned: Some(true), ..ArtifactChanges::default() };
    probe.store.change(&ann, &pinned.id, keep).await.unwrap();
    let cap = probe.store.health().await.unwrap().bytes + 400_000;
    let shelf = shelf_with(&engine, cap);
    let mut fault = None;
    for n in 1..100 {
        shelf.clock.advance(1);
        if let Err(full) = shelf.store.put(&ann, text(n)).await {
            fault = Some(full);
            break;
        }
    }
    assert_eq!(
        fault.map(|fault| fault.kind),
        Some(FaultKind::Exhausted),
        "the one that holds the most gets no room"
    );
    let before = shelf.store.holding(&ann).await.unwrap();
    for n in 100..103 {
        shelf.store.put(&bob, text(n)).await.unwrap();
    }
    let after = shelf.store.holding(&ann).await.unwrap();
    assert_eq!(shelf.store.holding(&bob).await.unwrap(), (3, 120_000));
    assert!(after.0 < before.0 && after.0 >= 3, "{before:?} {after:?}");
    let ids = [pinned.id];
    assert!(shelf.store.info(&ann, &ids).await.unwrap()[0].is_some(), "pinned ones go last");
    assert_eq!(shelf.store.owners().await.unwrap(), ["ann", "bob"]);
}

pub(crate) async fn what_an_owner_holds_can_be_limited_and_erased<F: ArtifactFixture>(engine: F) {
    let shelf = shelf(&engine);
    let (ann, bob) = (named("ann"), named("bob"));
    let limited = |text: &str| ArtifactDraft { owner_limit: Some(10), ..draft(text, "about yeast") };
    shelf.store.put(&ann, limited("six by")).await.unwrap();
    shelf.store.put(&ann, limited("six by")).await.unwrap();
    let fault = shelf.store.put(&ann, limited("and 5")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Exhausted);
    assert_eq!(fault.message, "this caller's artifacts would take 11 bytes; its quota leaves 10");
    shelf.store.put(&ann, limited("four")).await.unwrap();
    shelf.store.put(&bob, limited("six by")).await.unwrap();
    assert_eq!(shelf.store.owner_bytes(&ann).await, Ok(10));
    assert_eq!(shelf.store.erase(&ann).await, Ok(2));
    assert_eq!(shelf.store.erase(&ann).await, Ok(0));
    assert_eq!(shelf.store.holding(&ann).await, Ok((0, 0)));
    assert_eq!(shelf.store.search(&ann, "yeast", 5).await.unwrap(), []);
    assert_eq!(shelf.store.search(&bob, "yeast", 5).await.unwrap().len(), 1);
    shelf.store.put(&ann, limited("again")).await.unwrap();
    assert_eq!(shelf.store.search(&ann, "yeast", 5).await.unwrap().len(), 1);
}

//! Isolation of artifacts between owners.

use std::slice::from_ref;

use gatehouse_core::{
    call::Principal,
    outcome::FaultKind,
    ports::{
        ArtifactService as _,
        artifacts::{ArtifactChanges, ArtifactFilter, ArtifactPart},
    },
};

use super::{LOCAL, draft, named, shelf, shelf_by_meaning, tagged};
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

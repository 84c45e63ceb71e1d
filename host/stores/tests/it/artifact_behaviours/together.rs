//! Several processes with one store.

use gatehouse_core::ports::{
    ArtifactService as _,
    artifacts::{ArtifactChanges, ArtifactDraft},
};

use super::{HOUR, LOCAL, draft, meaning::until_complete, named, shelf, shelf_by_meaning, tagged};
use crate::{embedder::TestEmbedder, engines::ArtifactFixture};

pub(crate) async fn two_hosts_may_keep_and_sweep_at_once<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let (here, there) = (shelf_by_meaning(&engine, &embedder), shelf_by_meaning(&engine, &embedder));
    let short = |text: String| ArtifactDraft {
        ttl: Some(std::time::Duration::from_millis(1)),
        ..draft(&text, "yeast of a short time")
    };
    for round in 0..10 {
        here.clock.advance(2);
        there.clock.advance(2);
        let (a, b, c, d, e) = tokio::join!(
            here.store.put(&LOCAL, draft(&format!("here {round}"), "yeast")),
            there.store.put(&LOCAL, draft(&format!("there {round}"), "leaven")),
            here.store.put(&LOCAL, short(format!("short {round}"))),
            there.store.sweep(),
            here.store.sweep(),
        );
        assert!(a.is_ok() && b.is_ok() && c.is_ok(), "{a:?} {b:?} {c:?}");
        assert!(d.is_ok() && e.is_ok(), "{d:?} {e:?}");
    }
    until_complete(&here).await;
    for shelf in [&here, &there] {
        shelf.clock.advance(2);
        assert_eq!(shelf.recent(&[], "").await.len(), 20);
        assert_eq!(shelf.find("leaven").await.len(), 5);
    }
    let swept = here.store.sweep().await.unwrap() + there.store.sweep().await.unwrap();
    assert!(swept <= 1);
    assert_eq!(there.stored().await, 20);
    for id in here.recent(&[], "").await {
        assert_eq!(there.store.delete(&LOCAL, &id).await, Ok(true));
    }
    assert_eq!((here.find("leaven").await, here.recent(&[], "").await), (vec![], vec![]));
}

pub(crate) async fn two_hosts_that_keep_one_text_have_one_artifact<F: ArtifactFixture>(engine: F) {
    let (here, there) = (shelf(&engine), shelf(&engine));
    for round in 0..10 {
        let text = format!("text {round}");
        let (one, two) = tokio::join!(
            here.store.put(&LOCAL, draft(&text, "from here")),
            there.store.put(&LOCAL, draft(&text, "from there")),
        );
        assert_eq!(one.unwrap().id, two.unwrap().id);
    }
    assert_eq!((here.stored().await, there.recent(&[], "").await.len()), (10, 10));
    there.clock.advance(3 * HOUR);
    // Each store uses its own clock.
    assert_eq!((there.recent(&[], "").await.len(), here.recent(&[], "").await.len()), (0, 10));
}

pub(crate) async fn a_text_that_one_host_deletes_while_another_keeps_it_is_there<F: ArtifactFixture>(
    engine: F,
) {
    let (here, there) = (shelf(&engine), shelf(&engine));
    for round in 0..20 {
        let text = format!("text {round}");
        let id = here.store.put(&named("ann"), draft(&text, "")).await.unwrap().id;
        let ann = named("ann");
        let (deleted, kept) =
            tokio::join!(here.store.delete(&ann, &id), there.store.put(&LOCAL, draft(&text, "kept")),);
        assert_eq!(deleted, Ok(true));
        assert_eq!(there.text(&kept.unwrap().id).await, text);
    }
    assert_eq!(there.stored().await, 20);
}

pub(crate) async fn two_hosts_cannot_exceed_the_limit_of_an_owner<F: ArtifactFixture>(engine: F) {
    let (here, there) = (shelf(&engine), shelf(&engine));
    let limited = |text: String| ArtifactDraft { owner_limit: Some(150), ..draft(&text, "") };
    for round in 0..10 {
        let owner = named(&format!("ann {round}"));
        let (one, two) = tokio::join!(
            here.store.put(&owner, limited("a".repeat(100))),
            there.store.put(&owner, limited("b".repeat(100))),
        );
        assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
    }
}

pub(crate) async fn changes_of_one_artifact_by_two_hosts_are_all_kept<F: ArtifactFixture>(engine: F) {
    let (here, there) = (shelf(&engine), shelf(&engine));
    let id = here.put(draft("text", "")).await.id;
    for round in 0..10 {
        let tag = |tag: String| ArtifactChanges { add_tags: vec![tag], ..ArtifactChanges::default() };
        let (one, two, three) = tokio::join!(
            here.store.change(&LOCAL, &id, tag(format!("a{round}"))),
            there.store.change(&LOCAL, &id, tag(format!("b{round}"))),
            there.store.put(&LOCAL, tagged("text", "", &[&format!("c{round}")])),
        );
        assert!(one.is_ok() && two.is_ok() && three.is_ok(), "{one:?} {two:?} {three:?}");
    }
    assert_eq!(here.info(&id).await.unwrap().tags.len(), 30);
}

pub(crate) async fn what_is_embedded_and_deleted_at_once_stops_no_write<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let (here, there) = (shelf_by_meaning(&engine, &embedder), shelf_by_meaning(&engine, &embedder));
    for round in 0..10 {
        let owner = named(&format!("ann {round}"));
        for number in 0..8 {
            here.store.put(&owner, draft(&format!("{round} {number}"), "yeast")).await.unwrap();
        }
        let (erased, kept) = tokio::join!(
            there.store.erase(&owner),
            there.store.put(&LOCAL, draft(&format!("kept {round}"), "yeast"))
        );
        assert_eq!((erased, kept.is_ok()), (Ok(8), true));
    }
    until_complete(&here).await;
    assert_eq!(there.recent(&[], "").await.len(), 10);
}

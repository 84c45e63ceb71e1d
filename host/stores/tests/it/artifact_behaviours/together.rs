//! Several processes with one store.

use gatehouse_core::ports::{ArtifactService as _, artifacts::ArtifactDraft};

use super::{HOUR, LOCAL, draft, meaning::until_complete, shelf, shelf_by_meaning};
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

//! Several processes with one database.

use gatehouse_core::ports::documents::{DocumentStore as _, SearchMode};

use super::{LONG, add, file, find, paths, put, shelf_by_meaning, until_complete};
use crate::{embedder::TestEmbedder, engines::DocumentFixture};

pub(crate) async fn two_libraries_may_change_one_database_at_once<F: DocumentFixture>(engine: F) {
    let (one, two) = (TestEmbedder::new("test/one", 64), TestEmbedder::new("test/one", 64));
    let (here, there) = (shelf_by_meaning(&engine, &one).await, shelf_by_meaning(&engine, &two).await);
    put(&there, "other").await;
    let files = |name: &'static str, from: u32| {
        (from..from + 20)
            .map(|n| file(&format!("{name}{n}.md"), &format!("yeast of {name}")))
            .collect::<Vec<_>>()
    };
    for round in 0..5 {
        let (a, b, c) = tokio::join!(
            here.change("shelf", files("a", round * 20), vec![]),
            there.change("shelf", files("b", round * 20), vec![]),
            there.change("other", files("c", round * 20), vec![]),
        );
        assert!(a.is_ok() && b.is_ok() && c.is_ok(), "{a:?} {b:?} {c:?}");
    }
    assert_eq!(here.heads("shelf").await.unwrap().len(), 200);
    assert_eq!(there.heads("other").await.unwrap().len(), 100);
    until_complete(&here).await;
    assert!(there.wait_for_vectors(LONG).await);
    for library in [&here, &there] {
        let found = find(library, "leaven", SearchMode::Semantic).await;
        assert_eq!((found.hits.len(), found.note), (5, None));
    }
    let health = here.health().await.unwrap();
    assert_eq!((health.repositories, health.items, health.without_vector), (2, 300, 0));
}

pub(crate) async fn what_another_process_stores_and_removes_is_seen<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 512);
    let here = shelf_by_meaning(&engine, &embedder).await;
    add(&here, vec![file("a.md", "yeast")]).await;
    until_complete(&here).await;
    let silent = TestEmbedder::new("test/one", 512);
    let there = engine.open_documents(Some(std::sync::Arc::clone(&silent) as _));
    assert_eq!(paths(&find(&there, "leaven", SearchMode::Semantic).await), ["a.md"]);
    // The first search starts a pass over waiting chunks, which must not see the chunks below.
    assert!(there.wait_for_vectors(LONG).await);
    add(&here, vec![file("b.md", "device")]).await;
    until_complete(&here).await;
    assert_eq!(paths(&find(&there, "machine", SearchMode::Semantic).await), ["b.md"]);
    here.change("shelf", vec![file("c.md", "device")], vec!["b.md".into()]).await.unwrap();
    until_complete(&here).await;
    assert_eq!(paths(&find(&there, "machine", SearchMode::Semantic).await), ["c.md"]);
    here.remove("shelf").await.unwrap();
    put(&here, "shelf").await;
    assert_eq!(find(&there, "machine", SearchMode::Semantic).await.hits, []);
    assert_eq!(silent.documents(), 0);
}

//! Failures of ChromaDB: stopped, restarted, empty, another dimension, unresponsive. Search by words continues to work.

use std::{sync::Arc, time::Duration};

use gatehouse_core::ports::ArtifactService as _;
use gatehouse_stores::{ArtifactStore, ChromaConfig};
use tokio::net::TcpListener;

use super::Chroma;
use crate::{
    artifact_behaviours::{LOCAL, draft, limits, meaning::until_complete, shelf_by_meaning},
    embedder::TestEmbedder,
    engines::Fixture as _,
    support::clock,
};

#[tokio::test]
async fn words_answer_while_chroma_is_down_and_vectors_again_when_it_is_back() {
    let Some(mut place) = Chroma::fresh().await else { return };
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&place, &embedder);
    let yeast = shelf.put(draft("1", "yeast")).await.id;
    until_complete(&shelf).await;
    place.server.kill();
    let later = shelf.put(draft("2", "leaven")).await.id;
    assert_eq!(
        (shelf.find("yeast").await, shelf.find("leaven").await),
        (vec![yeast.clone()], vec![later.clone()])
    );
    assert_eq!((shelf.text(&yeast).await, shelf.recent(&[], "").await.len()), ("1".into(), 2));
    assert_eq!(shelf.store.delete(&LOCAL, "art-0").await, Ok(false));
    assert_eq!(shelf.store.sweep().await, Ok(0));
    let health = shelf.store.health().await.unwrap().embedding.unwrap();
    assert!(health.failing.unwrap().starts_with(&format!("ChromaDB at {}: ", place.server.url())));
    place.server.run().await;
    until_complete(&shelf).await;
    assert_eq!(shelf.find("leaven").await, [later.clone(), yeast.clone()]);
    // The same without data, and without the collection.
    place.server.kill();
    place.server.run_empty().await;
    shelf.find("leaven").await;
    until_complete(&shelf).await;
    assert_eq!(shelf.find("leaven").await, [later.clone(), yeast.clone()]);
    place.server.remove().await;
    assert_eq!(shelf.find("leaven").await, std::slice::from_ref(&later));
    until_complete(&shelf).await;
    assert_eq!(shelf.find("leaven").await, [later, yeast]);
}

#[tokio::test]
async fn a_collection_of_another_dimension_is_reported_and_words_still_match() {
    let Some(place) = Chroma::fresh().await else { return };
    place.server.fill(7).await;
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&place, &embedder);
    let yeast = shelf.put(draft("1", "yeast")).await.id;
    assert_eq!((shelf.find("yeast").await, shelf.find("leaven").await), (vec![yeast], vec![]));
    shelf.store.wait_for_vectors(Duration::from_secs(60)).await;
    let health = shelf.store.health().await.unwrap().embedding.unwrap();
    assert!(health.failing.unwrap().contains("dimension"));
    assert_eq!(health.waiting, 1);
    assert_eq!(place.server.count().await, 1);
}

#[tokio::test]
async fn a_server_that_never_answers_costs_a_search_its_time_and_no_more() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = ChromaConfig::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    config.request = Duration::from_millis(200);
    let dir = tempfile::tempdir().unwrap();
    let embedder = TestEmbedder::new("test/one", 64);
    let database = dir.path().join("artifacts.db");
    let store = ArtifactStore::sqlite(database, limits(1 << 30), clock(), Some(Arc::clone(&embedder) as _));
    let store = store.with_chroma(config);
    let kept = store.put(&LOCAL, draft("1", "yeast")).await.unwrap();
    let begin = std::time::Instant::now();
    for _ in 0..3 {
        let found = store.search(&LOCAL, "yeast", 5).await.unwrap();
        assert_eq!(found[0].artifact.id, kept.id);
    }
    // After the first failure, the server is not contacted.
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    let failing = store.health().await.unwrap().embedding.unwrap().failing.unwrap();
    assert!(failing.contains("no answer within 200ms"), "{failing}");
}

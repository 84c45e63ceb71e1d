//! Search by the meaning of summaries.

use std::{slice::from_ref, sync::Arc};

use gatehouse_core::ports::{ArtifactService as _, artifacts::ArtifactChanges};

use super::{LOCAL, LONG, Shelf, draft, shelf_by_meaning};
use crate::{
    embedder::{TestEmbedder, Vice},
    engines::ArtifactFixture,
};

pub(crate) async fn until_complete(shelf: &Shelf) {
    let end = std::time::Instant::now() + LONG;
    let waits = async || {
        let embedding = shelf.store.health().await.unwrap().embedding;
        embedding.is_some_and(|embedding| embedding.waiting > 0 || embedding.failing.is_some())
    };
    while waits().await {
        assert!(std::time::Instant::now() < end, "{:?}", shelf.store.health().await.unwrap());
        shelf.store.wait_for_vectors(LONG).await;
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn an_artifact_without_a_word_of_the_question_is_found<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&engine, &embedder);
    let yeast = shelf.put(draft("1", "yeast")).await.id;
    shelf.put(draft("2", "trains")).await;
    shelf.put(draft("3", "")).await;
    until_complete(&shelf).await;
    assert_eq!(embedder.documents(), 2);
    assert_eq!(shelf.find("leaven").await, from_ref(&yeast));
    let both = shelf.put(draft("4", "leaven")).await.id;
    until_complete(&shelf).await;
    assert_eq!(shelf.find("leaven").await, [both, yeast.clone()]);
    shelf.store.delete(&LOCAL, &yeast).await.unwrap();
    assert_eq!(shelf.find("leaven").await.len(), 1);
}

pub(crate) async fn without_a_model_that_answers_words_are_found<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Down);
    let shelf = shelf_by_meaning(&engine, &embedder);
    let yeast = shelf.put(draft("1", "yeast")).await.id;
    assert_eq!(shelf.find("yeast").await, from_ref(&yeast));
    assert_eq!(shelf.find("leaven").await, [""; 0]);
    shelf.store.wait_for_vectors(LONG).await;
    let health = shelf.store.health().await.unwrap().embedding.unwrap();
    assert_eq!((health.model.as_str(), health.waiting), ("test/one", 1));
    assert!(health.failing.unwrap().contains("is down"));
    embedder.set(Vice::None);
    until_complete(&shelf).await;
    assert_eq!(shelf.find("leaven").await, [yeast]);
}

pub(crate) async fn only_summaries_that_change_are_embedded_again<F: ArtifactFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&engine, &embedder);
    let id = shelf.put(draft("1", "yeast")).await.id;
    until_complete(&shelf).await;
    shelf.put(draft("1", "yeast")).await;
    shelf.put(draft("1", "")).await;
    let pin = ArtifactChanges { pinned: Some(true), ..ArtifactChanges::default() };
    shelf.store.change(&LOCAL, &id, pin).await.unwrap();
    until_complete(&shelf).await;
    assert_eq!(embedder.documents(), 1);
    let other = ArtifactChanges { summary: Some("device".into()), ..ArtifactChanges::default() };
    shelf.store.change(&LOCAL, &id, other).await.unwrap();
    until_complete(&shelf).await;
    assert_eq!((embedder.documents(), shelf.find("machine").await), (2, vec![id.clone()]));
    assert_eq!(shelf.find("leaven").await, [""; 0]);
    drop(shelf);
    let two = TestEmbedder::new("test/two", 64);
    let shelf = shelf_by_meaning(&engine, &two);
    assert!(shelf.store.wait_for_vectors(LONG).await);
    until_complete(&shelf).await;
    assert_eq!((two.documents(), shelf.find("machine").await), (1, vec![id]));
    drop(shelf);
    let end = std::time::Instant::now() + LONG;
    while Arc::strong_count(&two) > 1 {
        assert!(std::time::Instant::now() < end, "the task lives on");
        tokio::task::yield_now().await;
    }
}

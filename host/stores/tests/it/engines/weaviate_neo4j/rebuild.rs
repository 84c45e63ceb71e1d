//! A change of the model: vectors are rebuilt in the background while search by words continues.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    Fault,
    ports::{
        Embedder, KnowledgeGraph as _,
        embed::{EmbeddingPurpose, EmbeddingVector},
    },
};
use gatehouse_stores::{WikiKnowledge, WikiRoots};
use tokio::sync::Semaphore;

use super::{WeaviateNeo4j, house, seen};
use crate::{
    embedder::TestEmbedder,
    engines::{Fixture as _, Setup},
    support::{House, index},
};

const SOON: Duration = Duration::from_secs(20);

/// A model that embeds pages only when permitted.
struct Held {
    model: Arc<TestEmbedder>,
    /// One permit per batch.
    let_go: Semaphore,
    began: Semaphore,
}

impl Held {
    fn named(name: &'static str, dimension: usize) -> Arc<Self> {
        let model = TestEmbedder::new(name, dimension);
        Arc::new(Self { model, let_go: Semaphore::new(0), began: Semaphore::new(0) })
    }
}

#[async_trait]
impl Embedder for Held {
    fn model(&self) -> &str {
        self.model.model()
    }

    async fn embed(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        if purpose == EmbeddingPurpose::Document {
            self.began.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
        }
        self.model.embed(texts, purpose).await
    }
}

fn with(house: &House<WeaviateNeo4j>, model: Arc<dyn Embedder>) -> WikiKnowledge {
    house.engine.open(Setup { embedder: Some(model), ..Setup::of(WikiRoots::Any) })
}

fn collections(vectors: usize) -> [(String, usize, usize); 2] {
    [("KGWikiPages".to_owned(), 5, 0), ("KGWikiVectors".to_owned(), vectors, vectors)]
}

#[tokio::test]
async fn words_find_every_page_while_vectors_are_made_anew() {
    let Some(house) = house().await else { return };
    index(&with(&house, TestEmbedder::new("test/one", 64)), &house.wiki()).await;
    assert_eq!(house.engine.fake.collections(), collections(5));

    let held = Held::named("test/other", 16);
    let graph = with(&house, Arc::clone(&held) as _);
    let (pages, note) = seen(&graph).await.unwrap();
    assert_eq!(pages, 5);
    assert_eq!(note.unwrap(), "5 pages have no vectors yet and are searched by words only.");
    held.began.acquire().await.unwrap().forget();
    assert_eq!(house.engine.fake.collections(), collections(0));
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    held.let_go.add_permits(1);
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!(house.engine.fake.collections(), collections(5));
    assert_eq!(seen(&graph).await.unwrap(), (5, None));
    let found = graph.search("leaven", &Default::default(), 5).await.unwrap();
    assert_eq!((found.hits[0].page.id.as_str(), found.note), ("Principle/Acme_Fermentation", None));
}

#[tokio::test]
async fn a_rebuild_that_was_interrupted_goes_on_in_the_next_process() {
    let Some(house) = house().await else { return };
    index(&with(&house, TestEmbedder::new("test/one", 64)), &house.wiki()).await;
    let held = Held::named("test/other", 16);
    let graph = with(&house, Arc::clone(&held) as _);
    seen(&graph).await.unwrap();
    held.began.acquire().await.unwrap().forget();
    drop(graph);
    // A third model, while the rebuild for the second one is running.
    let graph = with(&house, TestEmbedder::new("test/third", 8));
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!(house.engine.fake.collections(), collections(5));
    assert_eq!(seen(&graph).await.unwrap(), (5, None));
}

#[tokio::test]
async fn a_model_that_comes_later_finds_its_pages_and_one_that_goes_leaves_words() {
    let Some(house) = house().await else { return };
    index(&house.open(), &house.wiki()).await;
    assert_eq!(house.engine.fake.collections(), collections(0)[..1]);
    let graph = with(&house, TestEmbedder::new("test/one", 64));
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!(house.engine.fake.collections(), collections(5));
    assert_eq!(seen(&house.open()).await.unwrap(), (5, None));
}

#[tokio::test]
async fn objects_that_weaviate_lost_are_restored_without_the_model() {
    let Some(house) = house().await else { return };
    let model = TestEmbedder::new("test/one", 64);
    let graph = with(&house, Arc::clone(&model) as _);
    index(&graph, &house.wiki()).await;
    house.engine.fake.forget();
    assert_eq!(seen(&graph).await.unwrap(), (5, None));
    assert_eq!(house.engine.fake.collections(), collections(5));
    assert_eq!(model.documents(), 5);
}

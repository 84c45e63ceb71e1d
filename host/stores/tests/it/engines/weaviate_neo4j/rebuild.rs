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

use super::{WeaviateNeo4j, all_seen, house, seen};
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

/// Returns the numbers of vectors in the collections, most first.
fn vectors(house: &House<WeaviateNeo4j>) -> Vec<usize> {
    let collections = house.engine.fake.collections();
    let mut vectors: Vec<usize> = collections.into_iter().map(|(_, _, vectors)| vectors).collect();
    vectors.sort_unstable_by(|a, b| b.cmp(a));
    vectors
}

#[tokio::test]
async fn words_find_every_page_while_vectors_are_made_anew() {
    let Some(house) = house().await else { return };
    let graph = with(&house, TestEmbedder::new("test/one", 64));
    index(&graph, &house.wiki()).await;
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!(vectors(&house), [5]);

    let held = Held::named("test/other", 16);
    let graph = with(&house, Arc::clone(&held) as _);
    let (pages, note) = seen(&graph).await.unwrap();
    assert_eq!(pages, 5);
    assert_eq!(note.unwrap(), "5 pages have no vectors yet and are searched by words only.");
    held.began.acquire().await.unwrap().forget();
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    held.let_go.add_permits(1);
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!(vectors(&house), [5, 5]);
    assert_eq!(seen(&graph).await.unwrap(), (5, None));
    let found = graph.search("leaven", &Default::default(), 5).await.unwrap();
    assert_eq!((found.hits[0].page.id.as_str(), found.note), ("Principle/Acme_Fermentation", None));
    // The vectors of the first model are still there.
    let first = TestEmbedder::new("test/one", 64);
    assert_eq!(seen(&with(&house, Arc::clone(&first) as _)).await.unwrap(), (5, None));
    assert_eq!(first.documents(), 0);
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
    let graph = with(&house, TestEmbedder::new("test/other", 16));
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!(vectors(&house)[0], 5);
    assert_eq!(seen(&graph).await.unwrap(), (5, None));
}

#[tokio::test]
async fn a_model_that_comes_later_finds_its_pages_and_one_that_goes_leaves_words() {
    let Some(house) = house().await else { return };
    index(&house.open(), &house.wiki()).await;
    assert_eq!(vectors(&house), [0; 0]);
    let graph = with(&house, TestEmbedder::new("test/one", 64));
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!(vectors(&house), [5]);
    assert_eq!(seen(&house.open()).await.unwrap(), (5, None));
}

#[tokio::test]
async fn vectors_of_another_dimension_replace_the_collection() {
    let Some(house) = house().await else { return };
    let graph = with(&house, TestEmbedder::new("test/one", 64));
    index(&graph, &house.wiki()).await;
    assert!(graph.wait_for_vectors(SOON).await);
    let graph = with(&house, TestEmbedder::new("test/one", 16));
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    assert!(graph.wait_for_vectors(SOON).await);
    assert_eq!((vectors(&house), seen(&graph).await.unwrap()), (vec![5], (5, None)));
}

#[tokio::test]
async fn lost_vectors_are_made_again() {
    let Some(house) = house().await else { return };
    let model = TestEmbedder::new("test/one", 64);
    let graph = with(&house, Arc::clone(&model) as _);
    index(&graph, &house.wiki()).await;
    assert!(graph.wait_for_vectors(SOON).await);
    house.engine.fake.forget();
    let (pages, note) = seen(&graph).await.unwrap();
    assert_eq!((pages, note.is_some()), (5, true));
    all_seen(&graph).await;
    assert_eq!((vectors(&house), model.documents()), (vec![5], 10));
}

/// As after a backup of Weaviate was restored.
#[tokio::test]
async fn a_process_that_starts_notices_lost_vectors() {
    let Some(house) = house().await else { return };
    let model = TestEmbedder::new("test/one", 64);
    let graph = with(&house, Arc::clone(&model) as _);
    index(&graph, &house.wiki()).await;
    assert!(graph.wait_for_vectors(SOON).await);
    drop(graph);
    house.engine.fake.lose(2);
    all_seen(&with(&house, Arc::clone(&model) as _)).await;
    assert_eq!((vectors(&house), model.documents()), (vec![5], 10));
}

/// Two hosts can store vectors of one page in the wrong order.
#[tokio::test]
async fn a_page_whose_vector_is_of_an_older_text_waits_again() {
    let Some(house) = house().await else { return };
    let graph = with(&house, TestEmbedder::new("test/one", 64));
    index(&graph, &house.wiki()).await;
    assert!(graph.wait_for_vectors(SOON).await);
    house.engine.database.cypher("MATCH (p:WikiPage) SET p.version = 'newer'");
    let _ = seen(&graph).await.unwrap();
    assert_eq!(graph.health().await.unwrap().without_vector, 5);
}

/// Weaviate makes a collection by itself for objects that arrive before it.
#[tokio::test]
async fn a_collection_without_a_description_is_replaced() {
    let Some(house) = house().await else { return };
    let graph = with(&house, TestEmbedder::new("test/one", 64));
    index(&graph, &house.wiki()).await;
    assert!(graph.wait_for_vectors(SOON).await);
    let class = house.engine.fake.collections()[0].0.clone();
    house.engine.fake.forget();
    house.engine.fake.have(&class, "");
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    all_seen(&graph).await;
    assert_eq!(vectors(&house), [5]);
}

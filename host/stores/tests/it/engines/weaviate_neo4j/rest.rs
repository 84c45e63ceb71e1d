//! Failures of Weaviate: stopped, slow, invalid responses. Pages are stored, read and found by words, searches report the
//! problem, and everything recovers without a restart.

use gatehouse_core::{http::Secret, ports::KnowledgeGraph as _};
use gatehouse_stores::{WeaviateNeo4jConfig, WikiKnowledge};

use super::{WeaviateNeo4j, all_seen, fake::Mood, house, impatient, in_the_end, seen};
use crate::{
    embedder::TestEmbedder,
    support::{House, counts, index, page},
};

/// Opens the graph of a house with a model.
fn open(house: &House<WeaviateNeo4j>, change: impl FnOnce(&mut WeaviateNeo4jConfig)) -> WikiKnowledge {
    house.engine.with_model(TestEmbedder::new("test/one", 64), change)
}

/// Indexes the wiki and waits for all vectors.
async fn indexed(house: &House<WeaviateNeo4j>) -> WikiKnowledge {
    let graph = open(house, impatient);
    index(&graph, &house.wiki()).await;
    all_seen(&graph).await;
    graph
}

/// Returns the note of a search that finds all pages by words only.
async fn by_words(graph: &WikiKnowledge) -> String {
    let (pages, note) = seen(graph).await.unwrap();
    assert_eq!(pages, 5);
    let note = note.unwrap();
    assert!(note.contains("Searched by words only: knowledge engine 'weaviate' at "), "{note}");
    note
}

#[tokio::test]
async fn while_it_is_down_words_find_pages_and_searches_say_so() {
    let Some(house) = house().await else { return };
    house.engine.fake.stop();
    let graph = open(&house, impatient);
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (5, 0, 0, 0));
    page(&graph, "Rest Tip").await;
    let start = format!("knowledge engine 'weaviate' at {}: connection refused", house.engine.fake.url());
    assert!(by_words(&graph).await.contains(&start));
    let health = graph.health().await.unwrap();
    assert!(health.no_vectors.unwrap().starts_with(&start));
    assert_eq!((health.items, health.without_vector), (5, 5));
    house.engine.fake.again();
    all_seen(&graph).await;
    let health = graph.health().await.unwrap();
    assert_eq!((health.no_vectors, health.without_vector), (None, 0));
}

#[tokio::test]
async fn after_a_failure_it_is_left_alone_for_a_while() {
    let Some(house) = house().await else { return };
    let graph = open(&house, |config| {
        config.timing.first_pause *= 3600;
        config.timing.longest_pause = config.timing.first_pause;
    });
    index(&graph, &house.wiki()).await;
    all_seen(&graph).await;
    house.engine.fake.stop();
    by_words(&graph).await;
    house.engine.fake.again();
    let before = house.engine.fake.asked("").len();
    let note = by_words(&graph).await;
    assert!(note.contains("; next try in 3600 s"), "{note}");
    assert_eq!(house.engine.fake.asked("").len(), before, "it was not asked");
    assert_eq!(seen(&open(&house, |_| {})).await.unwrap(), (5, None));
}

#[tokio::test]
async fn every_wrong_answer_is_a_note_in_words_and_the_next_right_one_is_taken() {
    let Some(house) = house().await else { return };
    let graph = indexed(&house).await;
    let class = house.engine.fake.collections()[0].0.clone();
    let rows =
        |rows: &str| -> &'static str { format!(r#"{{"data":{{"Get":{{"{class}":{rows}}}}}}}"#).leak() };
    let errors = r#"{"data":null,"errors":[{"message":"explorer: shard is read-only","path":["Get"]}]}"#;
    let moods = [
        (Mood::Silent, "no answer within 700ms"),
        (Mood::Says(500, r#"{"error":[{"message":"index is broken"}]}"#), "it answered 500"),
        (Mood::Says(503, "<html>try later</html>"), "<html>try later</html>"),
        (Mood::Says(200, errors), "it rejected the query: explorer: shard is read-only"),
        (Mood::Says(200, "<html>"), "its answer is not JSON"),
        (Mood::Says(200, "[]"), "has no list of pages"),
        (Mood::Says(200, rows("null")), "has no list of pages"),
        (Mood::Says(200, rows(r#"[{"key":7}]"#)), "a page without key or score"),
        (Mood::Endless, "larger than 16 MiB"),
        (Mood::Cut, "its answer"),
        (
            Mood::Says(401, r#"{"code":401,"message":"anonymous access not enabled"}"#),
            "anonymous access not enabled",
        ),
    ];
    for (mood, words) in moods {
        house.engine.fake.mood(Some(("graphql", mood)));
        let note = by_words(&graph).await;
        assert!(note.contains(words) || mood == Mood::Cut, "{mood:?}: {note}");
        house.engine.fake.mood(None);
        all_seen(&graph).await;
    }
}

#[tokio::test]
async fn wrong_answers_to_a_batch_lose_no_vector() {
    let Some(house) = house().await else { return };
    let graph = indexed(&house).await;
    let moods = [
        Mood::Silent,
        Mood::Says(500, "no"),
        Mood::Says(200, "[]"),
        Mood::Says(200, r#"[{"id":"x","result":{"status":"SUCCESS"}}]"#),
        Mood::Cut,
    ];
    for (round, mood) in moods.into_iter().enumerate() {
        house.write(
            "principles/Acme_Fermentation.md",
            &format!("# Principle: Fermentation\nround{round} yeast\n"),
        );
        let before = house.engine.fake.asked("batch").len();
        house.engine.fake.mood(Some(("batch", mood)));
        index(&graph, &house.wiki()).await;
        house.engine.fake.heard("batch", before + 1).await;
        house.engine.fake.mood(None);
        all_seen(&graph).await;
        let found = graph.search(&format!("round{round}"), &Default::default(), 5).await.unwrap();
        assert_eq!(found.hits[0].page.id, "Principle/Acme_Fermentation", "{mood:?}");
    }
}

#[tokio::test]
async fn a_page_that_it_refuses_waits_and_the_others_have_vectors() {
    let Some(house) = house().await else { return };
    let graph = open(&house, impatient);
    house.engine.fake.refuse(Some("Rest Tip"));
    index(&graph, &house.wiki()).await;
    let waiting = async || match graph.health().await?.without_vector {
        1 => Ok(()),
        other => Err(gatehouse_core::Fault::internal(other.to_string())),
    };
    in_the_end(waiting).await;
    let (pages, note) = seen(&graph).await.unwrap();
    assert_eq!(pages, 5);
    assert_eq!(note.unwrap(), "1 page has no vector yet and is searched by words only.");
    house.engine.fake.refuse(None);
    all_seen(&graph).await;
}

#[tokio::test]
async fn vectors_of_removed_pages_go_at_once_or_with_a_later_search() {
    let Some(house) = house().await else { return };
    let graph = indexed(&house).await;
    let vectors = || house.engine.fake.collections()[0].2;
    std::fs::remove_file(house.wiki().join("heuristics/Acme_Rest_Tip.md")).unwrap();
    index(&graph, &house.wiki()).await;
    assert_eq!(vectors(), 4);
    house.engine.fake.mood(Some(("batch", Mood::Says(500, "no"))));
    std::fs::remove_file(house.wiki().join("principles/Acme_Fermentation.md")).unwrap();
    assert_eq!(counts(&index(&graph, &house.wiki()).await).2, 3);
    assert_eq!(vectors(), 4);
    house.engine.fake.mood(None);
    assert_eq!(in_the_end(async || seen(&graph).await).await, (3, None));
    assert_eq!(vectors(), 3);
}

#[tokio::test]
async fn a_foreign_collection_is_unchanged() {
    let Some(house) = house().await else { return };
    let graph = indexed(&house).await;
    let class = house.engine.fake.collections()[0].0.clone();
    house.engine.fake.forget();
    house.engine.fake.have(&class, "Recipes");
    let before = house.engine.fake.asked("schema").len();
    let note = by_words(&graph).await;
    assert!(note.contains("belongs to something else: 'Recipes'"), "{note}");
    assert!(house.engine.fake.asked("schema")[before..].iter().all(|asked| asked.method == "GET"));
    assert_eq!(house.engine.fake.collections(), [(class, 0, 0)]);
}

#[tokio::test]
async fn the_key_goes_with_every_request_and_shows_nowhere() {
    let Some(house) = house().await else { return };
    let key = "s3cret-api-key";
    let graph = open(&house, |config| config.weaviate_api_key = Some(Secret::new(key)));
    index(&graph, &house.wiki()).await;
    all_seen(&graph).await;
    let asked = house.engine.fake.asked("");
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|asked| asked.authorization.as_deref() == Some("Bearer s3cret-api-key")));
    house.engine.fake.mood(Some(("", Mood::Says(401, r#"{"message":"key s3cret-api-key is unknown"}"#))));
    let note = by_words(&graph).await;
    assert!(!note.contains(key) && note.contains("[redacted]"), "{note}");
}

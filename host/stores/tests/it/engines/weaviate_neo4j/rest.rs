//! Failures of Weaviate: stopped, slow, invalid responses. Pages are still stored and read, search reports the problem,
//! and it recovers without a restart.

use gatehouse_core::{FaultKind, http::Secret, ports::KnowledgeGraph as _};
use gatehouse_stores::WikiRoots;

use super::{fake::Mood, house, impatient, in_the_end, seen};
use crate::support::{counts, index, page};

#[tokio::test]
async fn while_it_is_down_pages_are_stored_and_read_and_search_says_so() {
    let Some(house) = house().await else { return };
    house.engine.fake.stop();
    let graph = house.engine.graph(WikiRoots::Any, impatient);
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (5, 0, 0, 0));
    page(&graph, "Rest Tip").await;
    let start = format!("knowledge engine 'weaviate' at {}: connection refused", house.engine.fake.url());
    let mut faults = vec![seen(&graph).await.unwrap_err(), graph.health().await.unwrap_err()];
    faults.push(seen(&graph).await.unwrap_err());
    for fault in faults {
        assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, true));
        assert!(fault.message.starts_with(&start), "{}", fault.message);
        assert!(fault.hint.unwrap().contains("WEAVIATE_URL"));
    }
    house.engine.fake.again();
    assert_eq!(in_the_end(async || seen(&graph).await).await, (5, None));
    assert_eq!(graph.health().await.unwrap().unsearchable, 0);
}

#[tokio::test]
async fn after_a_failure_it_is_left_alone_for_a_while() {
    let Some(house) = house().await else { return };
    let graph = house.engine.graph(WikiRoots::Any, |config| {
        config.timing.first_pause *= 3600;
        config.timing.longest_pause = config.timing.first_pause;
    });
    index(&graph, &house.wiki()).await;
    house.engine.fake.stop();
    assert!(seen(&graph).await.is_err());
    house.engine.fake.again();
    let before = house.engine.fake.asked("").len();
    let fault = seen(&graph).await.unwrap_err();
    assert!(fault.message.contains("; next try in 3600 s"), "{}", fault.message);
    assert_eq!(house.engine.fake.asked("").len(), before, "it was not asked");
    assert_eq!(seen(&house.open()).await.unwrap().0, 5);
}

#[tokio::test]
async fn every_wrong_answer_is_a_fault_in_words_and_the_next_right_one_is_taken() {
    let Some(house) = house().await else { return };
    let graph = house.engine.graph(WikiRoots::Any, impatient);
    index(&graph, &house.wiki()).await;
    assert_eq!(seen(&graph).await.unwrap().0, 5);
    let errors = r#"{"data":null,"errors":[{"message":"explorer: shard is read-only","path":["Get"]}]}"#;
    let moods = [
        (Mood::Silent, "no answer within 700ms"),
        (Mood::Says(500, r#"{"error":[{"message":"index is broken"}]}"#), "it answered 500"),
        (Mood::Says(503, "<html>try later</html>"), "<html>try later</html>"),
        (Mood::Says(200, errors), "it rejected the query: explorer: shard is read-only"),
        (Mood::Says(200, "<html>"), "its answer is not JSON"),
        (Mood::Says(200, "[]"), "has no list of pages"),
        (Mood::Says(200, r#"{"data":{"Get":{"KGWikiPages":null}}}"#), "has no list of pages"),
        (Mood::Says(200, r#"{"data":{"Get":{"KGWikiPages":[{"key":7}]}}}"#), "a page without key or score"),
        (Mood::Endless, "larger than 16 MiB"),
        (Mood::Cut, "its answer"),
        (
            Mood::Says(401, r#"{"code":401,"message":"anonymous access not enabled"}"#),
            "anonymous access not enabled",
        ),
    ];
    for (mood, words) in moods {
        house.engine.fake.mood(Some(("graphql", mood)));
        let fault = in_the_end(async || {
            seen(&graph)
                .await
                .map_or_else(Ok, |found| Err(gatehouse_core::Fault::internal(format!("{found:?}"))))
        })
        .await;
        let named = format!("knowledge engine 'weaviate' at {}: ", house.engine.fake.url());
        assert!(fault.message.starts_with(&named), "{mood:?}: {}", fault.message);
        let is_reported = fault.message.contains(words) || mood == Mood::Cut;
        assert!(is_reported, "{mood:?}: {}", fault.message);
        house.engine.fake.mood(None);
        assert_eq!(in_the_end(async || seen(&graph).await).await.0, 5, "{mood:?}");
    }
}

#[tokio::test]
async fn wrong_answers_to_a_batch_lose_no_page() {
    let Some(house) = house().await else { return };
    let graph = house.engine.graph(WikiRoots::Any, impatient);
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
            &format!("# Principle: Fermentation\nround{round} words\n"),
        );
        house.engine.fake.mood(Some(("batch", mood)));
        index(&graph, &house.wiki()).await;
        house.engine.fake.mood(None);
        let word = format!("round{round}");
        let found = in_the_end(async || {
            let found = graph.search(&word, &Default::default(), 5).await?;
            if found.hits.is_empty() {
                Err(gatehouse_core::Fault::not_found("nothing yet"))
            } else {
                Ok(found)
            }
        });
        assert_eq!(found.await.note, None, "{mood:?}");
    }
}

#[tokio::test]
async fn a_page_that_it_refuses_waits_and_the_others_are_found() {
    let Some(house) = house().await else { return };
    let graph = house.engine.graph(WikiRoots::Any, impatient);
    house.engine.fake.refuse(Some("Rest_Tip"));
    index(&graph, &house.wiki()).await;
    let (pages, note) = seen(&graph).await.unwrap();
    assert_eq!((pages, graph.health().await.unwrap().unsearchable), (4, 1));
    assert!(note.unwrap().starts_with("1 changed page"), "search says that it has not seen all");
    house.engine.fake.refuse(None);
    assert!(graph.wait_for_vectors(std::time::Duration::from_secs(20)).await);
    assert_eq!(seen(&graph).await.unwrap(), (5, None));
}

#[tokio::test]
async fn lost_objects_are_restored() {
    let Some(house) = house().await else { return };
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    house.engine.fake.forget();
    assert_eq!(seen(&graph).await.unwrap(), (5, None));
    drop(graph);
    house.engine.fake.lose(2);
    assert_eq!(seen(&house.open()).await.unwrap(), (5, None));
}

#[tokio::test]
async fn a_foreign_collection_is_unchanged() {
    let Some(house) = house().await else { return };
    house.engine.fake.have("KGWikiPages", "Recipes");
    let graph = house.open();
    assert_eq!(index(&graph, &house.wiki()).await.added, 5);
    let fault = seen(&graph).await.unwrap_err();
    assert!(fault.message.contains("belongs to something else: 'Recipes'"), "{}", fault.message);
    assert_eq!((fault.retryable, house.engine.fake.asked("batch").len()), (false, 0));
    assert!(house.engine.fake.asked("schema").iter().all(|asked| asked.method == "GET"));
}

#[tokio::test]
async fn the_key_goes_with_every_request_and_shows_nowhere() {
    let Some(house) = house().await else { return };
    let key = "s3cret-api-key";
    let graph = house.engine.graph(WikiRoots::Any, |config| config.weaviate_api_key = Some(Secret::new(key)));
    index(&graph, &house.wiki()).await;
    let asked = house.engine.fake.asked("");
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|asked| asked.authorization.as_deref() == Some("Bearer s3cret-api-key")));
    house.engine.fake.mood(Some(("", Mood::Says(401, r#"{"message":"key s3cret-api-key is unknown"}"#))));
    let fault = seen(&graph).await.unwrap_err();
    assert!(!format!("{fault:?}").contains(key) && fault.message.contains("[redacted]"), "{fault:?}");
    assert!(fault.hint.unwrap().contains("WEAVIATE_API_KEY"));
}

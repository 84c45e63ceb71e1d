//! Search by meaning: results, when vectors are made, and the fallback to words.

use std::{sync::Arc, time::Duration};

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{MatchQuality, PageChanges, PageDraft, PageFilters, PageSearchResult, PageType},
};
use gatehouse_stores::WikiKnowledge;

use crate::{
    embedder::{TestEmbedder, Vice},
    engines::Fixture,
    support::{House, index, source},
};

const LONG: Duration = Duration::from_secs(60);

async fn indexed<F: Fixture>(engine: F, embedder: &Arc<TestEmbedder>) -> (House<F>, WikiKnowledge) {
    let house = House::small(engine);
    let graph = house.open_by_meaning(embedder);
    index(&graph, &house.wiki()).await;
    (house, graph)
}

fn draft(page_type: PageType, title: &str, overview: &str) -> PageDraft {
    PageDraft {
        title: title.into(),
        page_type,
        overview: overview.into(),
        content: String::new(),
        domains: vec![],
        sources: vec![],
        links: vec![],
    }
}

async fn search(graph: &WikiKnowledge, query: &str) -> PageSearchResult {
    graph.search(query, &PageFilters::default(), 5).await.unwrap()
}

fn ids(result: &PageSearchResult) -> Vec<&str> {
    result.hits.iter().map(|hit| hit.page.id.as_str()).collect()
}

/// Searches until every page has its vector. The embedding task does not report completion.
async fn until_complete(graph: &WikiKnowledge) {
    let end = std::time::Instant::now() + LONG;
    while graph.health().await.unwrap().embedding.is_some_and(|e| e.waiting > 0 || e.failing.is_some()) {
        assert!(std::time::Instant::now() < end, "{:?}", graph.health().await.unwrap());
        graph.wait_for_vectors(LONG).await;
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn a_page_without_a_word_of_the_question_is_found<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 512);
    let (_house, graph) = indexed(engine, &embedder).await;
    graph.upsert(vec![draft(PageType::Heuristic, "Leaven_Keeping", "Feed the leaven.")]).await.unwrap();
    let result = search(&graph, "yeast").await;
    assert!(ids(&result).contains(&"Heuristic/Leaven_Keeping"), "{:?}", ids(&result));
    assert!(result.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    assert_eq!(result.note, None);
    let strict = PageFilters { min_score: Some(0.9), ..PageFilters::default() };
    let best = graph.search("yeast", &strict, 5).await.unwrap();
    assert!(best.hits.len() < result.hits.len() && best.hits.iter().all(|hit| hit.score >= 0.9));
    for _ in 0..3 {
        assert_eq!(search(&graph, "yeast").await, result);
    }
}

pub(crate) async fn filters_count_before_the_nearest_are_taken<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 512);
    let (_house, graph) = indexed(engine, &embedder).await;
    let near = (0..200).map(|n| draft(PageType::Principle, &format!("n {n}"), "leaven leaven leaven"));
    let far = draft(PageType::Environment, "far", "leaven among many other different words here");
    graph.upsert(near.chain([far]).collect()).await.unwrap();
    let types = PageFilters { page_types: vec![PageType::Environment], ..PageFilters::default() };
    let result = graph.search("yeast", &types, 1).await.unwrap();
    assert_eq!(ids(&result), ["Environment/far"]);
}

pub(crate) async fn a_page_without_a_word_of_the_question_has_to_be_near_enough<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 4096);
    let house = House::small(engine);
    let graph = house.open_by_meaning(&embedder);
    let words = "leaven alpha bravo charlie delta echoes foxtrot golfing hotels";
    let drafts = [draft(PageType::Principle, "a", words), draft(PageType::Principle, "b", "oranges")];
    graph.upsert(drafts.into()).await.unwrap();
    // A similarity of a third does not count if no page contains a word. A quarter counts if one does.
    let fits = |result: PageSearchResult| -> Vec<(String, bool)> {
        let hits = result.hits.into_iter();
        hits.map(|hit| (hit.page.id, hit.fit != MatchQuality::Nothing)).collect()
    };
    let (a, b) = ("Principle/a".to_owned(), "Principle/b".to_owned());
    let nothing = fits(search(&graph, "yeast").await);
    assert_eq!(nothing[0], (a.clone(), false), "the nearest are named all the same");
    assert_eq!(ids(&search(&graph, "yeast oranges").await), [&b, &a]);
    let far = fits(search(&graph, "yeast oranges submarine engines").await);
    assert_eq!(far, [(b, true), (a, false)]);
}

pub(crate) async fn a_model_that_is_down_stops_neither_indexing_nor_search_and_is_asked_again<F: Fixture>(
    engine: F,
) {
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Down);
    let (_house, graph) = indexed(engine, &embedder).await;
    let result = search(&graph, "dough").await;
    assert!(!result.hits.is_empty());
    let note = result.note.unwrap();
    assert_eq!(note, "Searched by words only: model 'test/one' at test.invalid is down.");
    let health = graph.health().await.unwrap().embedding.unwrap();
    assert_eq!((health.model.as_str(), health.waiting), ("test/one", 5));
    assert!(health.failing.unwrap().contains("is down"));
    embedder.answer_questions();
    let note = search(&graph, "dough").await.note.unwrap();
    assert_eq!(note, "5 pages have no vectors yet and are searched by words only.");
    embedder.set(Vice::None);
    until_complete(&graph).await;
    assert_eq!(search(&graph, "dough").await.note, None);
}

pub(crate) async fn answers_that_do_not_fit_are_no_vectors<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Short);
    let (_house, graph) = indexed(engine, &embedder).await;
    for vice in [Vice::Short, Vice::Nan] {
        embedder.set(vice);
        let result = search(&graph, "dough").await;
        assert!(
            !result.hits.is_empty() && result.note.is_some_and(|note| note.contains("test/one")),
            "{vice:?}"
        );
        assert_eq!(graph.health().await.unwrap().embedding.unwrap().waiting, 5);
    }
}

pub(crate) async fn a_page_that_the_model_refuses_does_not_hold_up_the_others<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Picky);
    let house = House::small(engine);
    let graph = house.open_by_meaning(&embedder);
    graph.upsert(vec![draft(PageType::Principle, "a", "poison")]).await.unwrap();
    index(&graph, &house.wiki()).await;
    assert!(!graph.wait_for_vectors(LONG).await);
    let end = std::time::Instant::now() + LONG;
    while graph.health().await.unwrap().embedding.unwrap().waiting > 1 {
        assert!(std::time::Instant::now() < end);
        tokio::task::yield_now().await;
    }
    assert_eq!(
        search(&graph, "dough").await.note.unwrap(),
        "1 page has no vector yet and is searched by words only."
    );
}

pub(crate) async fn only_a_change_of_what_is_embedded_is_embedded_again<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let (house, graph) = indexed(engine, &embedder).await;
    assert_eq!(embedder.documents(), 5);
    index(&graph, &house.wiki()).await;
    let id = "Heuristic/Acme_Rest_Tip";
    let sources = PageChanges { sources: Some(vec![source("Other")]), ..PageChanges::default() };
    graph.patch(id, sources, None, true).await.unwrap();
    assert!(graph.wait_for_vectors(LONG).await);
    assert_eq!(embedder.documents(), 5);
    let overview = PageChanges { overview: Some("A device to knead.".into()), ..PageChanges::default() };
    graph.patch(id, overview, None, true).await.unwrap();
    assert!(graph.wait_for_vectors(LONG).await);
    assert_eq!(embedder.documents(), 6);
    assert!(ids(&search(&graph, "machine").await).contains(&id));
}

pub(crate) async fn what_another_process_stores_and_removes_is_seen<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 512);
    let (house, here) = indexed(engine, &embedder).await;
    let silent = TestEmbedder::new("test/one", 512);
    let there = house.open_by_meaning(&silent);
    assert!(!search(&there, "yeast").await.hits.is_empty());
    // The first search starts a pass over waiting pages, which must not see the pages below.
    assert!(there.wait_for_vectors(LONG).await);
    here.upsert(vec![draft(PageType::Principle, "device", "device")]).await.unwrap();
    std::fs::remove_file(house.wiki().join("principles/device.md")).unwrap();
    assert!(ids(&search(&there, "machine").await).contains(&"Principle/device"));
    let all = gatehouse_core::ports::knowledge::IndexOptions { clear_existing: true, ..Default::default() };
    here.index(Some(house.wiki()), all, &|_, _| {}).await.unwrap();
    assert!(!ids(&search(&there, "machine").await).contains(&"Principle/device"));
    assert!(there.wait_for_vectors(LONG).await);
    assert_eq!(silent.documents(), 0);
}

pub(crate) async fn another_model_or_dimension_is_embedded_anew_and_going_back_costs_nothing<F: Fixture>(
    engine: F,
) {
    let one = TestEmbedder::new("test/one", 64);
    let (house, graph) = indexed(engine, &one).await;
    drop(graph);
    let two = TestEmbedder::new("test/two", 32);
    let graph = house.open_by_meaning(&two);
    assert!(!search(&graph, "dough").await.hits.is_empty());
    until_complete(&graph).await;
    assert_eq!((two.documents(), search(&graph, "dough").await.note), (5, None));
    drop(graph);
    let graph = house.open_by_meaning(&one);
    assert_eq!(search(&graph, "dough").await.note, None);
    assert!(graph.wait_for_vectors(LONG).await);
    assert_eq!(one.documents(), 5);
    one.set_dimension(48);
    assert!(!search(&graph, "dough").await.hits.is_empty());
    until_complete(&graph).await;
    assert_eq!((one.documents(), search(&graph, "dough").await.note), (10, None));
}

pub(crate) async fn vectors_of_the_earlier_edition_serve_until_all_are_replaced<F: Fixture>(engine: F) {
    let (house, first) = indexed(engine, &TestEmbedder::new("test/one", 512)).await;
    first.upsert(vec![draft(PageType::Heuristic, "Leaven_Keeping", "Feed the leaven.")]).await.unwrap();
    until_complete(&first).await;
    let found_by_first = search(&first, "yeast").await;
    assert!(ids(&found_by_first).contains(&"Heuristic/Leaven_Keeping"), "{:?}", ids(&found_by_first));
    drop(first);

    let second = TestEmbedder::edition("test/two", Some("test/one"), 512);
    second.set(Vice::Down);
    second.answer_questions();
    let graph = house.open_by_meaning(&second);
    assert!(!graph.wait_for_vectors(LONG).await);
    assert_eq!(search(&graph, "yeast").await, found_by_first, "by the vectors of the first edition");
    second.set(Vice::None);
    until_complete(&graph).await;
    assert_eq!(search(&graph, "yeast").await, found_by_first);

    let stranger = TestEmbedder::new("test/three", 512);
    stranger.set(Vice::Down);
    stranger.answer_questions();
    let graph = house.open_by_meaning(&stranger);
    let note = search(&graph, "yeast").await.note.unwrap();
    assert!(note.contains("have no vectors yet"), "{note}");
}

pub(crate) async fn two_hosts_may_index_one_database_at_once<F: Fixture>(engine: F) {
    let (one, two) = (TestEmbedder::new("test/one", 64), TestEmbedder::new("test/one", 64));
    let house = House::small(engine);
    let (here, there) = (house.open_by_meaning(&one), house.open_by_meaning(&two));
    let drafts = |name: &'static str| {
        (0..150).map(move |n| draft(PageType::Principle, &format!("{name} {n}"), "yeast"))
    };
    let (a, b) = tokio::join!(here.upsert(drafts("a").collect()), there.upsert(drafts("b").collect()));
    assert_eq!((a.unwrap().added, b.unwrap().added), (150, 150));
    until_complete(&here).await;
    assert!(there.wait_for_vectors(LONG).await);
    assert_eq!(search(&there, "leaven").await.hits.len(), 5);
}

pub(crate) async fn the_task_ends_with_the_graph<F: Fixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Silent);
    let house = House::small(engine);
    let graph = Arc::new(house.open_by_meaning(&embedder));
    let indexing = tokio::spawn({
        let (graph, wiki) = (Arc::clone(&graph), house.wiki());
        async move { index(&graph, &wiki).await }
    });
    while graph.stats().await.unwrap().pages == 0 {
        tokio::task::yield_now().await;
    }
    indexing.abort();
    assert!(indexing.await.is_err());
    drop(graph);
    let end = std::time::Instant::now() + LONG;
    while Arc::strong_count(&embedder) > 1 {
        assert!(std::time::Instant::now() < end, "the task lives on");
        tokio::task::yield_now().await;
    }
    // The next process finishes the remaining work.
    embedder.set(Vice::None);
    let graph = house.open_by_meaning(&embedder);
    assert!(graph.wait_for_vectors(LONG).await);
    assert_eq!(embedder.documents(), 5);
}

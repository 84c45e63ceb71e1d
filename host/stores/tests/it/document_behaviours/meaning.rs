//! Search by meaning: results, when vectors are made, and the fallback to words.

use std::sync::Arc;

use gatehouse_core::ports::{
    DocumentReader as _,
    documents::{DocumentStore as _, LineRange, SearchMode},
};

use super::{LONG, add, file, find, paths, put, shelf, shelf_by_meaning, until_complete};
use crate::{
    embedder::{TestEmbedder, Vice},
    engines::DocumentFixture,
};

const SEMANTIC: SearchMode = SearchMode::Semantic;

pub(crate) async fn a_document_is_as_near_as_its_nearest_chunk<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 4096);
    let library = shelf_by_meaning(&engine, &embedder).await;
    let other = "oranges lemons plums cherries quinces medlars";
    add(
        &library,
        vec![
            file("long.md", &format!("{other}\n\n{other}\n\nleaven\n\n{other}")),
            file("mixed.md", &format!("leaven {other}")),
            file("other.md", other),
            file("empty.md", ""),
        ],
    )
    .await;
    until_complete(&library).await;
    let found = find(&library, "yeast", SEMANTIC).await;
    assert_eq!((paths(&found), found.note.clone()), (vec!["long.md", "mixed.md"], None));
    assert_eq!(found.hits[0].best, Some(LineRange { first: 5, last: 6 }));
    assert!(found.hits[0].score > found.hits[1].score);
    assert_eq!(found.unmatched_terms, ["yeast"]);
    for _ in 0..3 {
        assert_eq!(find(&library, "yeast", SEMANTIC).await, found);
    }
    // A chunk's heading is part of its meaning.
    add(&library, vec![file("headed.md", "# Leaven\nbread oranges lemons plums")]).await;
    until_complete(&library).await;
    assert!(paths(&find(&library, "yeast loaf", SEMANTIC).await).contains(&"headed.md"));
}

pub(crate) async fn a_file_that_is_moved_is_not_embedded_again<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&engine, &embedder).await;
    add(&library, vec![file("old.md", "yeast\n\nbread")]).await;
    until_complete(&library).await;
    library.change("shelf", vec![file("new.md", "yeast\n\nbread")], vec!["old.md".into()]).await.unwrap();
    assert_eq!(library.health().await.unwrap().without_vector, 0);
    let found = library.search("shelf", "leaven", SEMANTIC, 5).await.unwrap();
    assert_eq!((found.hits[0].path.as_str(), found.note), ("new.md", None));
    assert_eq!(embedder.documents(), 2);
}

pub(crate) async fn a_text_that_a_new_file_holds_twice_takes_its_vector_over_once<F: DocumentFixture>(
    engine: F,
) {
    let embedder = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&engine, &embedder).await;
    add(&library, vec![file("one.md", "bread\n\nlemons")]).await;
    until_complete(&library).await;
    add(&library, vec![file("two.md", "bread\n\nbread\n\nplums"), file("three.md", "bread\n\nbread\n\n")])
        .await;
    until_complete(&library).await;
    let found = find(&library, "bread", SEMANTIC).await;
    assert_eq!((found.hits.len(), found.note.clone()), (3, None), "{:?}", paths(&found));
}

pub(crate) async fn without_vectors_words_answer_and_a_note_reports_it<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    add(&library, vec![file("a.md", "bread")]).await;
    let found = find(&library, "bread", SEMANTIC).await;
    assert_eq!(paths(&found), ["a.md"]);
    assert_eq!(found.note.unwrap(), "Searched by words only: no embedding model is configured.");
    assert_eq!(find(&library, "bread", SearchMode::Text).await.note, None);
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Down);
    let library = shelf_by_meaning(&engine, &embedder).await;
    add(&library, vec![file("b.md", "bread\n\nyeast")]).await;
    let found = find(&library, "bread", SEMANTIC).await;
    assert_eq!(found.hits.len(), 2);
    assert_eq!(found.note.unwrap(), "Searched by words only: model 'test/one' at test.invalid is down.");
    // The write itself started a pass.
    library.wait_for_vectors(LONG).await;
    let health = library.health().await.unwrap().embedding.unwrap();
    assert_eq!((health.model.as_str(), health.waiting), ("test/one", 3));
    assert!(health.failing.unwrap().contains("is down"));
    embedder.answer_questions();
    let note = find(&library, "bread", SEMANTIC).await.note.unwrap();
    assert!(note.starts_with("2 documents have "), "{note}");
    embedder.set(Vice::None);
    until_complete(&library).await;
    assert_eq!(find(&library, "bread", SEMANTIC).await.note, None);
    assert_eq!(paths(&find(&library, "leaven", SEMANTIC).await), ["b.md"]);
}

pub(crate) async fn only_chunks_that_changed_are_embedded_again<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&engine, &embedder).await;
    add(&library, vec![file("a.md", "bread one\n\nyeast two\n\nmachine three"), file("b.md", "plums")]).await;
    until_complete(&library).await;
    assert_eq!(embedder.documents(), 4);
    // Insert a chunk that moves two others, and change one.
    add(&library, vec![file("a.md", "new first\n\nbread one\n\nyeast changed\n\nmachine three")]).await;
    until_complete(&library).await;
    assert_eq!(embedder.documents(), 6);
    let found = find(&library, "device", SEMANTIC).await;
    assert_eq!(
        (found.hits[0].path.as_str(), found.hits[0].best),
        ("a.md", Some(LineRange { first: 7, last: 7 }))
    );
    // A repeated text is embedded once.
    add(&library, vec![file("c.md", "plums plums\n\nx\n\nplums plums\n\nx\n\n")]).await;
    until_complete(&library).await;
    assert!(embedder.documents() <= 8 && library.health().await.unwrap().without_vector == 0);
    library.change("shelf", vec![], vec!["a.md".into()]).await.unwrap();
    assert_eq!(find(&library, "device", SEMANTIC).await.hits, []);
}

pub(crate) async fn another_model_or_dimension_is_embedded_anew_and_going_back_costs_nothing<
    F: DocumentFixture,
>(
    engine: F,
) {
    let one = TestEmbedder::new("test/one", 64);
    let library = shelf_by_meaning(&engine, &one).await;
    add(&library, vec![file("a.md", "bread"), file("b.md", "yeast")]).await;
    until_complete(&library).await;
    drop(library);
    let two = TestEmbedder::new("test/two", 32);
    let library = shelf_by_meaning(&engine, &two).await;
    assert!(!find(&library, "bread", SEMANTIC).await.hits.is_empty());
    until_complete(&library).await;
    assert_eq!((two.documents(), paths(&find(&library, "loaf", SEMANTIC).await)), (2, vec!["a.md"]));
    drop(library);
    let library = shelf_by_meaning(&engine, &one).await;
    assert_eq!(paths(&find(&library, "leaven", SEMANTIC).await), ["b.md"]);
    assert!(library.wait_for_vectors(LONG).await);
    assert_eq!(one.documents(), 2);
    one.set_dimension(48);
    assert!(!find(&library, "bread", SEMANTIC).await.hits.is_empty());
    until_complete(&library).await;
    let found = find(&library, "leaven", SEMANTIC).await;
    assert_eq!((one.documents(), paths(&found), found.note.clone()), (4, vec!["b.md"], None));
}

pub(crate) async fn what_waited_when_a_process_ended_the_next_one_embeds<F: DocumentFixture>(engine: F) {
    let library = shelf(&engine).await;
    add(&library, (0..150).map(|n| file(&format!("{n}.md"), &format!("yeast {n}"))).collect()).await;
    library.close().await;
    drop(library);
    let embedder = TestEmbedder::new("test/one", 64);
    let library = engine.open_documents(Some(Arc::clone(&embedder) as _));
    assert!(library.wait_for_vectors(LONG).await);
    assert_eq!((embedder.documents(), library.health().await.unwrap().without_vector), (150, 0));
    assert_eq!(find(&library, "leaven", SEMANTIC).await.hits.len(), 5);
}

pub(crate) async fn words_alone_are_asked_no_model<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 4096);
    let library = shelf_by_meaning(&engine, &embedder).await;
    put(&library, "empty").await;
    add(&library, vec![file("a.md", "yeast"), file("b.md", "leaven")]).await;
    until_complete(&library).await;
    embedder.set(Vice::Down);
    let found = find(&library, "yeast", SearchMode::Text).await;
    assert_eq!((paths(&found), found.note.clone()), (vec!["a.md"], None));
    embedder.set(Vice::None);
    assert_eq!(paths(&find(&library, "yeast", SEMANTIC).await), ["a.md", "b.md"]);
    let nothing = library.search("empty", "yeast", SEMANTIC, 5).await.unwrap();
    assert_eq!((nothing.hits, nothing.note), (vec![], None));
}

pub(crate) async fn the_task_ends_with_the_library<F: DocumentFixture>(engine: F) {
    let embedder = TestEmbedder::new("test/one", 64);
    embedder.set(Vice::Silent);
    let library = shelf_by_meaning(&engine, &embedder).await;
    add(&library, vec![file("a.md", "yeast")]).await;
    drop(library);
    let end = std::time::Instant::now() + LONG;
    while Arc::strong_count(&embedder) > 1 {
        assert!(std::time::Instant::now() < end, "the task lives on");
        tokio::task::yield_now().await;
    }
}

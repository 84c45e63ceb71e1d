//! Behaviors that every document engine must have, like [`behaviours`](crate::behaviours) for the knowledge graph.

pub(crate) mod keeping;
pub(crate) mod languages;
pub(crate) mod meaning;
pub(crate) mod reading;
pub(crate) mod search;
pub(crate) mod together;

use std::{sync::Arc, time::Duration};

use gatehouse_core::ports::{
    DocumentReader as _,
    documents::{
        DocumentChunk, DocumentSearchResult, DocumentStore as _, FileHead, LineRange, NewFile, Repository,
        RepositoryState, SearchMode,
    },
};
use gatehouse_stores::DocumentLibrary;

use crate::{embedder::TestEmbedder, engines::DocumentFixture};

macro_rules! document_behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, document_behaviours;
            keeping {
                files_are_added_replaced_and_removed,
                a_repository_keeps_its_id_and_names_are_compared_without_case,
                removing_a_repository_removes_all_of_it_and_nothing_else,
                what_was_stored_is_there_after_a_restart,
                a_change_is_stored_whole_or_not_at_all,
                paths_and_texts_of_any_kind_come_back_as_they_were,
            }
            meaning {
                a_document_is_as_near_as_its_nearest_chunk,
                without_vectors_words_answer_and_a_note_reports_it,
                only_chunks_that_changed_are_embedded_again,
                a_file_that_is_moved_is_not_embedded_again,
                a_text_that_a_new_file_holds_twice_takes_its_vector_over_once,
                another_model_or_dimension_is_embedded_anew_and_going_back_costs_nothing,
                what_waited_when_a_process_ended_the_next_one_embeds,
                words_alone_are_asked_no_model,
                the_task_ends_with_the_library,
            }
            languages {
                documents_in_other_languages_are_found_by_other_words,
            }
            reading {
                documents_are_read_whole_and_by_lines,
                unknown_repositories_and_paths_are_reported_with_the_nearest,
            }
            search {
                beginnings_of_words_are_found_where_no_document_has_the_whole_word,
                words_are_found_in_paths_headings_and_bodies,
                a_document_that_is_named_comes_first,
                a_name_that_very_many_share_tells_nothing,
                any_text_is_a_valid_query,
                other_scripts_are_found_in_parts_and_in_other_forms,
                spellings_of_the_same_word_find_each_other,
                equal_documents_come_in_the_order_of_their_paths,
                a_search_sees_its_own_repository_alone,
                a_hit_says_how_well_it_fits_and_where,
            }
            together {
                two_libraries_may_change_one_database_at_once,
                what_another_process_stores_and_removes_is_seen,
            }
        }
    };
}

pub(crate) use document_behaviours;

const LONG: Duration = Duration::from_secs(60);

pub(crate) async fn shelf<F: DocumentFixture>(engine: &F) -> DocumentLibrary {
    let library = engine.open_documents(None);
    put(&library, "shelf").await;
    library
}

pub(crate) async fn shelf_by_meaning<F: DocumentFixture>(
    engine: &F,
    embedder: &Arc<TestEmbedder>,
) -> DocumentLibrary {
    let library = engine.open_documents(Some(Arc::clone(embedder) as _));
    put(&library, "shelf").await;
    library
}

fn repository(name: &str) -> RepositoryState {
    let repository = Repository { name: name.into(), ..Repository::default() };
    RepositoryState { repository, ..RepositoryState::default() }
}

pub(crate) async fn put(library: &DocumentLibrary, name: &str) {
    library.put_state(&repository(name)).await.unwrap();
}

/// Creates a file as indexing does: paragraphs are chunks, and lines that start with `# ` are headings.
pub(crate) fn file(path: &str, text: &str) -> NewFile {
    let (mut chunks, mut headings, mut heading) = (Vec::new(), Vec::new(), String::new());
    let (mut start, mut line) = (0, 1);
    for paragraph in text.split_inclusive("\n\n") {
        if let Some(title) = paragraph.strip_prefix("# ") {
            heading = title.lines().next().unwrap().to_owned();
            headings.push(heading.clone());
        }
        let count = paragraph.lines().count() as u32;
        let lines = LineRange { first: line, last: line + count.max(1) - 1 };
        chunks.push(DocumentChunk { start, end: start + paragraph.len(), lines, heading: heading.clone() });
        start += paragraph.len();
        line += count;
    }
    NewFile {
        head: FileHead { path: path.into(), hash: format!("{:x}", text.len()) },
        text: text.into(),
        made_from: None,
        headings,
        lines: text.lines().count() as u32,
        tokens: text.split_whitespace().count() as u32,
        chunks,
    }
}

pub(crate) async fn add(library: &DocumentLibrary, files: Vec<NewFile>) {
    library.change("shelf", files, vec![]).await.unwrap();
}

async fn find(library: &DocumentLibrary, query: &str, mode: SearchMode) -> DocumentSearchResult {
    library.search("shelf", query, mode, 5).await.unwrap()
}

fn paths(found: &DocumentSearchResult) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.path.as_str()).collect()
}

/// Waits until every chunk has its vector. The embedding task does not report completion.
pub(crate) async fn until_complete(library: &DocumentLibrary) {
    let end = std::time::Instant::now() + LONG;
    let waits = async || {
        library.health().await.unwrap().embedding.is_some_and(|e| e.waiting > 0 || e.failing.is_some())
    };
    while waits().await {
        assert!(std::time::Instant::now() < end, "{:?}", library.health().await.unwrap());
        library.wait_for_vectors(LONG).await;
        tokio::task::yield_now().await;
    }
}

//! Concurrent writers do not lose acknowledged changes.

use std::{
    fs,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{IndexOptions, PageChanges, PageLookup},
};

use crate::{
    engines::Fixture,
    support::{House, counts, index, page},
};

const ID: &str = "Workflow/Acme_Bread_Baking";
const FILE: &str = "workflows/Acme_Bread_Baking.md";

/// Runs work in a separate runtime from a callback, like another process, and waits for it.
fn elsewhere<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|threads| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(work)
        };
        threads.spawn(run).join().unwrap()
    })
}

pub(crate) async fn an_edit_between_reading_and_storing_a_folder_is_kept<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    // Change another file, so that there is something to store.
    house.write("heuristics/Acme_Rest_Tip.md", "# Heuristic: Rest Tip\nChanged.\n");
    let edited = Mutex::new(false);
    let every_file_is_read = |done, total| {
        let mut edited = edited.lock().unwrap();
        if done == total && !std::mem::replace(&mut *edited, true) {
            elsewhere(async {
                let other = house.open();
                let changes =
                    PageChanges { overview: Some("Acknowledged.".into()), ..PageChanges::default() };
                other.patch(ID, changes, None, true).await.unwrap();
                house.write("principles/Acme_New.md", "# Principle: New\n");
                fs::remove_file(house.wiki().join("environments/Acme_Kitchen.md")).unwrap();
            });
        }
    };
    let options = IndexOptions::default();
    let report = graph.index(Some(house.wiki()), options, &every_file_is_read).await.unwrap();
    assert!(*edited.lock().unwrap());
    assert!(house.read(FILE).contains("Acknowledged."));
    assert_eq!(page(&graph, ID).await.overview, "Acknowledged.");
    assert_eq!(counts(&report), (1, 1, 3, 1), "{report:?}");
    assert!(matches!(graph.page("Environment/Acme_Kitchen").await.unwrap(), PageLookup::Missing(_)));
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
}

pub(crate) async fn a_folder_is_indexed_beside_writers_that_never_pause<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let ended = AtomicBool::new(false);
    let writers_done = AtomicUsize::new(0);
    let edit = async |id| {
        let (other, mut edits) = (house.open(), 0);
        while !ended.load(Ordering::SeqCst) {
            let changes = PageChanges { overview: Some(format!("Edit {edits}.")), ..PageChanges::default() };
            match other.patch(id, changes, None, true).await {
                Ok(_) => {
                    edits += 1;
                    if edits == 1 {
                        writers_done.fetch_add(1, Ordering::SeqCst);
                    }
                }
                // Others won several times, the index run won, or it read the file of an edit that then met a conflict.
                // Nothing was changed, so repeat the edit; the next index run reads the file again.
                Err(fault) if fault.retryable => {}
                Err(fault) => {
                    let refusals = ["was changed by another caller", "has changed since it was indexed"];
                    assert!(refusals.iter().any(|refusal| fault.message.ends_with(refusal)), "{fault:?}");
                }
            }
        }
    };
    let indexing = async {
        let mut runs = 0;
        // Ends with the test's time limit if a writer never succeeds.
        while runs < 5 || writers_done.load(Ordering::SeqCst) < 3 {
            index(&graph, &house.wiki()).await;
            runs += 1;
        }
        ended.store(true, Ordering::SeqCst);
    };
    let ids = ["Heuristic/Acme_Rest_Tip", "Environment/Acme_Kitchen"];
    tokio::join!(indexing, edit(ID), edit(ids[0]), edit(ids[1]));
    // The last run may have read the file of an edit that then met a conflict. It is read again.
    index(&graph, &house.wiki()).await;
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
}

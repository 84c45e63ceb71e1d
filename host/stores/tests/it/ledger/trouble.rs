//! A ledger that cannot be written does not affect calls and reports what is lost.

use std::time::{Duration, Instant};

use super::*;

#[tokio::test]
async fn a_failed_write_stops_no_call() {
    let place = Place::new();
    // A directory in place of the file.
    std::fs::create_dir_all(&place.path).unwrap();
    let ledger = place.ledger();
    for _ in 0..20_000 {
        ledger.record(place.call("read", SampleEnding::Replied));
    }
    assert_eq!(ledger.flush().await.unwrap_err().kind, FaultKind::Unavailable);
    std::fs::remove_dir(&place.path).unwrap();
    ledger.flush().await.unwrap();
    assert_eq!(
        (all(&ledger).await[0].calls, place.rows("call")),
        (20_000, 1_000),
        "all count, few are stored singly"
    );
}

#[tokio::test]
async fn lost_calls_are_counted_and_the_error_is_reported_while_it_lasts() {
    let place = Place::new();
    std::fs::create_dir_all(&place.path).unwrap();
    let ledger = place.ledger();
    let health = ledger.health();
    for tool in 0..4_103 {
        ledger.record(place.call(&format!("tool {tool}"), SampleEnding::Replied));
    }
    ledger.flush().await.unwrap_err();
    let snapshot = health.borrow().clone();
    assert_eq!(snapshot.lost, 7);
    assert!(snapshot.trouble.unwrap().contains("ledger.db"));
    std::fs::remove_dir(&place.path).unwrap();
    ledger.flush().await.unwrap();
    assert_eq!((health.borrow().lost, health.borrow().trouble.clone()), (7, None));
}

#[tokio::test]
async fn a_newer_database_is_left_alone_and_every_call_is_counted_as_lost() {
    let place = Place::new();
    std::fs::create_dir_all(place.path.parent().unwrap()).unwrap();
    let db = rusqlite::Connection::open(&place.path).unwrap();
    db.pragma_update(None, "user_version", 999).unwrap();
    drop(db);
    let before = std::fs::read(&place.path).unwrap();
    let ledger = place.ledger();
    for _ in 0..5 {
        ledger.record(place.call("read", SampleEnding::Replied));
    }
    let fault = ledger.flush().await.unwrap_err();
    assert!(fault.message.contains("newer"), "{fault:?}");
    assert_eq!(ledger.health().borrow().lost, 5);
    ledger.close().await;
    assert_eq!(std::fs::read(&place.path).unwrap(), before);
}

/// Locks the database for writing, like another busy process.
fn stall(place: &Place) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(&place.path).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    db
}

#[tokio::test]
async fn a_writer_that_is_stalled_holds_up_neither_calls_nor_questions() {
    let place = Place::new();
    let ledger = place.ledger();
    ledger.record(place.call("read", SampleEnding::Replied));
    ledger.flush().await.unwrap();
    let stalled = stall(&place);
    let begin = Instant::now();
    for _ in 0..100_000 {
        ledger.record(place.call("read", SampleEnding::Replied));
        tokio::task::yield_now().await;
    }
    let each = begin.elapsed() / 100_000;
    assert!(each < Duration::from_micros(200), "{each:?} a call");
    assert_eq!(all(&ledger).await[0].calls, 1, "written calls are reported immediately");
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    stalled.execute_batch("ROLLBACK").unwrap();
    ledger.flush().await.unwrap();
    let written = all(&ledger).await[0].calls;
    let lost = ledger.health().borrow().lost;
    assert_eq!(written + lost, 100_001, "each is there or counted as lost");
    assert_eq!(lost, 0);
}

#[tokio::test]
async fn a_canceled_query_loses_no_calls() {
    let place = Place::new();
    let ledger = place.ledger();
    ledger.record(place.call("read", SampleEnding::Replied));
    ledger.flush().await.unwrap();
    let stalled = stall(&place);
    for _ in 0..10 {
        ledger.record(place.call("read", SampleEnding::Replied));
    }
    let soon = Duration::from_millis(50);
    tokio::time::timeout(soon, ledger.metrics(&MetricsFilter::default())).await.unwrap_err();
    stalled.execute_batch("ROLLBACK").unwrap();
    ledger.flush().await.unwrap();
    assert_eq!(all(&ledger).await[0].calls, 11);
}

#[tokio::test]
async fn an_unusable_key_file_is_named() {
    let place = Place::new();
    std::fs::create_dir_all(place.path.with_extension("key")).unwrap();
    let ledger = place.ledger();
    ledger.record(place.call("read", SampleEnding::Replied));
    let fault = ledger.flush().await.unwrap_err();
    assert!(fault.message.contains(": cannot create its key file: "), "{}", fault.message);
}

//! Tests of deadlines, nested calls and call records.

use std::sync::atomic::Ordering;

use serde_json::json;

use super::*;
use crate::{
    outcome::FaultKind,
    pipeline::{AdmitStage, CallObserver, CallRecord, DeadlineStage, ObserveStage},
    ports::ledger::SampleEnding,
    testing::{Fixture, context, tool},
};

fn source() -> Arc<Fixture> {
    Fixture::new(SourceId::Gate("x".into()), vec![tool("search", None)])
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_gate_ends_at_its_limit() {
    let source = source();
    source.hangs.store(1, Ordering::Relaxed);
    let context = context(vec![Arc::new(DeadlineStage)], &source, "search").await;
    let started = context.started;
    let fault = Call::new(context, json!({})).run().await.expect_err("too slow");
    assert_eq!(started.elapsed(), Duration::from_secs(30));
    assert_eq!(fault.message, "'search' was stopped after 30 s");
    assert!(fault.hint.expect("a hint").contains("limits.time of [gates.x]"));
}

#[tokio::test(start_paused = true)]
async fn timeout_names_the_server_and_its_own_limit() {
    let server = Fixture::new(SourceId::Server("git".into()), vec![tool("log", None)]);
    let context = context(vec![Arc::new(DeadlineStage)], &server, "git__log").await;
    server.hangs.store(1, Ordering::Relaxed);
    let fault = Call::new(context, json!({})).run().await.expect_err("too slow");
    assert_eq!(fault.message, "'git__log' was stopped after 30 s; server 'git' did not answer");
    assert_eq!(
        fault.hint.as_deref(),
        Some("Request less data, or raise timeout of [servers.git] in presets.toml.")
    );
}

#[tokio::test(start_paused = true)]
async fn nested_call_ends_shortly_before_its_deadline() {
    let source = source();
    let context = context(vec![Arc::new(AdmitStage), Arc::new(DeadlineStage)], &source, "search").await;
    let deadline = context.deadline().within(Duration::from_secs(3));
    source.hangs.store(1, Ordering::Relaxed);
    let start = Instant::now();
    let nested = context.call_nested(&deadline, "search", json!({})).await;
    let fault = nested.expect_err("too slow");
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert!(fault.hint.expect("a hint").contains("limits.time of [gates.x]"));
    assert_eq!(start.elapsed(), Duration::from_millis(2_850), "the caller has time left to report it");
    let deep = context.call_nested(&deadline, "search", json!({"nested": "search"})).await;
    assert!(deep.expect_err("too deep").message.contains("nest at most 4 deep"));
}

#[tokio::test]
async fn calls_of_unknown_tools_are_recorded_too() {
    type Seen = Arc<std::sync::Mutex<Vec<(String, SampleEnding, usize, usize)>>>;
    struct Ledger(Seen);
    impl CallObserver for Ledger {
        fn observe(&self, record: &CallRecord<'_>) {
            let name = record.context.name.clone();
            let seen = (name, record.ending, record.bytes_in, record.bytes_out);
            self.0.lock().expect("not poisoned").push(seen);
        }
    }
    let seen = Seen::default();
    for (name, arguments) in
        [("search", json!({"q": "ä"})), ("search", json!({"is_error": true})), ("serach", json!({}))]
    {
        let observe = ObserveStage::new(vec![Box::new(Ledger(Arc::clone(&seen)))], false);
        let context = context(vec![Arc::new(observe), Arc::new(AdmitStage)], &source(), name).await;
        let _ = Call::new(context, arguments).run().await;
    }
    let unknown = "Unknown tool: 'serach'. Did you mean 'search'?".len();
    let expected = [
        ("search".to_owned(), SampleEnding::Replied, 10, 17),
        ("search".to_owned(), SampleEnding::ToolError, 17, 24),
        ("serach".to_owned(), SampleEnding::Fault(FaultKind::UnknownTool), 2, unknown),
    ];
    assert_eq!(*seen.lock().expect("not poisoned"), expected);
}

//! Tests of attempts, nested calls and call records.

use std::sync::atomic::Ordering;

use async_trait::async_trait;
use serde_json::json;
use tokio::time::timeout_at;

use super::*;
use crate::{
    outcome::FaultKind,
    pipeline::{AdmitStage, CallEnding, CallObserver, CallRecord, DeadlineStage, Next, ObserveStage, Stage},
    testing::{Fixture, context, tool},
};

/// Makes two attempts of ten seconds each, then a last one with the rest of the call's time.
struct Retry;

#[async_trait]
impl Stage for Retry {
    async fn run(&self, call: &mut Call, next: Next<'_>) -> Outcome {
        for _ in 0..2 {
            let mut attempt = call.attempt(Duration::from_secs(10));
            if let Ok(outcome) = timeout_at(attempt.deadline().instant(), next.run(&mut attempt)).await {
                return outcome;
            }
        }
        next.run(call).await
    }
}

fn source() -> Arc<Fixture> {
    Fixture::new(SourceId::Gate("x".into()), vec![tool("search", None)])
}

#[tokio::test(start_paused = true)]
async fn an_attempt_has_its_own_time_and_all_share_that_of_the_call() {
    let source = source();
    source.hangs.store(2, Ordering::Relaxed);
    let context = context(vec![Arc::new(DeadlineStage), Arc::new(Retry)], &source, "search").await;
    let begun = context.started;
    assert!(Call::new(context, json!({})).run().await.is_ok(), "the third attempt");
    assert_eq!(begun.elapsed(), Duration::from_secs(20));

    source.hangs.store(9, Ordering::Relaxed);
    let context = crate::testing::context(vec![Arc::new(DeadlineStage), Arc::new(Retry)], &source, "search");
    let fault = Call::new(context.await, json!({})).run().await.expect_err("too slow");
    assert_eq!(fault.message, "'search' was stopped after 30 s");
    assert!(fault.hint.expect("a hint").contains("limits.time of [gates.x]"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_named_with_its_own_limit() {
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
async fn a_nested_call_ends_shortly_before_the_attempt_that_made_it() {
    let source = source();
    let context = context(vec![Arc::new(AdmitStage), Arc::new(DeadlineStage)], &source, "search").await;
    let call = Call::new(context, json!({})).attempt(Duration::from_secs(3));
    source.hangs.store(1, Ordering::Relaxed);
    let begun = Instant::now();
    let nested = call.context.call_nested(call.deadline(), "search", json!({})).await;
    let fault = nested.expect_err("too slow");
    assert_eq!(fault.kind, FaultKind::TimedOut);
    assert!(fault.hint.expect("a hint").contains("limits.time of [gates.x]"));
    assert_eq!(begun.elapsed(), Duration::from_millis(2_850), "the caller has time left to report it");
    let deep = call.context.call_nested(call.deadline(), "search", json!({"nested": "search"})).await;
    assert!(deep.expect_err("too deep").message.contains("nest at most 4 deep"));
}

#[tokio::test]
async fn every_call_is_recorded_that_of_an_unknown_tool_too() {
    type Seen = Arc<std::sync::Mutex<Vec<(String, CallEnding, usize, usize)>>>;
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
        let observe = ObserveStage::new(vec![Box::new(Ledger(Arc::clone(&seen)))]);
        let context = context(vec![Arc::new(observe), Arc::new(AdmitStage)], &source(), name).await;
        let _ = Call::new(context, arguments).run().await;
    }
    let unknown = "Unknown tool: 'serach'. Did you mean 'search'?".len();
    let expected = [
        ("search".to_owned(), CallEnding::Replied, 10, 17),
        ("search".to_owned(), CallEnding::ErrorReply, 17, 24),
        ("serach".to_owned(), CallEnding::Fault(FaultKind::UnknownTool), 2, unknown),
    ];
    assert_eq!(*seen.lock().expect("not poisoned"), expected);
}

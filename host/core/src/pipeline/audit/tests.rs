//! Tests of what is recorded, and when.

use std::{
    net::IpAddr,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use futures_util::poll;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::*;
use crate::{
    Caller, RequestOrigin, SourceId, lock,
    pipeline::AdmitStage,
    testing::{Fixture, context, tool, with_effect},
};

/// A log that tests block or break.
#[derive(Default)]
struct TestLog {
    queued: Mutex<Vec<AuditEntry>>,
    stored: Mutex<Vec<AuditEntry>>,
    /// True if `commit` waits for `go`.
    blocks: AtomicBool,
    go: Notify,
    is_full: AtomicBool,
}

impl TestLog {
    fn fault(&self) -> Result<(), Fault> {
        match self.is_full.load(Ordering::Relaxed) {
            true => Err(Fault::unavailable("the audit: the disk is full").hint("Free some space.")),
            false => Ok(()),
        }
    }
}

#[async_trait]
impl AuditLog for TestLog {
    fn record(&self, entry: AuditEntry) {
        lock(&self.queued).push(entry);
    }

    async fn commit(&self, entry: AuditEntry) -> Result<(), Fault> {
        if self.blocks.load(Ordering::Relaxed) {
            self.go.notified().await;
        }
        self.fault()?;
        lock(&self.stored).push(entry);
        Ok(())
    }

    async fn check(&self) -> Result<(), Fault> {
        self.fault()
    }
}

struct AuditedTools {
    log: Arc<TestLog>,
    stage: Arc<AuditStage>,
    source: Arc<Fixture>,
}

impl AuditedTools {
    fn new(reads: bool) -> Self {
        let tools = vec![tool("look", None), with_effect("edit", Effect::Mutating)];
        let log = Arc::<TestLog>::default();
        let stage = Arc::new(AuditStage::new(Some(Arc::clone(&log) as _), reads));
        Self { log, stage, source: Fixture::new(SourceId::Server("x".into()), tools) }
    }

    async fn begin(&self, name: &str, arguments: Value) -> Call {
        let stages: Vec<Arc<dyn Stage>> = vec![Arc::clone(&self.stage) as _, Arc::new(AdmitStage)];
        let mut context = context(stages, &self.source, name).await;
        context.caller = Caller::named("okta:ann");
        let address = Some(IpAddr::from([192, 0, 2, 7]));
        context.origin = Some(Arc::new(RequestOrigin { address, client: "tester 1.0".into() }));
        Call::new(context, arguments)
    }

    async fn call(&self, name: &str, arguments: Value) -> Outcome {
        self.begin(name, arguments).await.run().await
    }

    fn stored(&self) -> Vec<AuditEntry> {
        lock(&self.log.stored).clone()
    }

    fn queued(&self) -> Vec<AuditEntry> {
        lock(&self.log.queued).clone()
    }
}

#[tokio::test]
async fn changes_are_stored_with_their_facts_and_reads_only_on_request() {
    let audited = AuditedTools::new(false);
    audited.call("x__edit", json!({"secret": "hunter2"})).await.expect("a reply");
    audited.call("x__look", json!({})).await.expect("a reply");
    assert!(audited.queued().is_empty(), "{:?}", audited.queued());
    let [entry] = &audited.stored()[..] else { panic!("{:?}", audited.stored()) };
    assert_eq!((entry.kind, entry.outcome), (AuditKind::Call, "ok"));
    assert_eq!((entry.principal.as_str(), &*entry.credential), ("okta:ann", "okta:ann"));
    assert_eq!((entry.client.as_str(), entry.address), ("tester 1.0", Some(IpAddr::from([192, 0, 2, 7]))));
    assert_eq!((entry.tool.as_deref(), entry.preset.as_deref()), (Some("x__edit"), Some("p")));
    assert_eq!((entry.tokens_in, entry.tokens_out), (5, 7));
    assert_eq!(entry.arguments, Some(json_digest(&json!({"secret": "hunter2"}))));
    assert!(!format!("{entry:?}").contains("hunter2"));
    let audited = AuditedTools::new(true);
    audited.call("x__look", json!({})).await.expect("a reply");
    assert_eq!(audited.queued().len(), 1);
}

#[tokio::test]
async fn a_flood_of_refused_calls_is_ten_entries() {
    let audited = AuditedTools::new(false);
    for _ in 0..1_000 {
        let fault = audited.call("x__unknown", json!({})).await.expect_err("refused");
        assert_eq!(fault.kind, FaultKind::UnknownTool);
    }
    let entries = audited.queued();
    assert_eq!(entries.len(), 10);
    assert!(entries.iter().all(|entry| entry.outcome == "unknown-tool"), "{entries:?}");
    audited.call("x__edit", json!({})).await.expect("a reply");
    assert_eq!(audited.stored().len(), 1, "other calls are recorded as before");
}

#[tokio::test]
async fn the_reply_of_a_change_waits_for_its_entry() {
    let audited = AuditedTools::new(false);
    audited.log.blocks.store(true, Ordering::Relaxed);
    let mut call = Box::pin(audited.begin("x__edit", json!({})).await.run());
    assert!(poll!(&mut call).is_pending() && poll!(&mut call).is_pending());
    assert!(audited.stored().is_empty());
    audited.log.go.notify_one();
    assert!(call.await.is_ok());
    assert_eq!(audited.stored().len(), 1);
}

#[tokio::test]
async fn without_an_audit_nothing_changes() {
    let audited = AuditedTools::new(false);
    audited.log.is_full.store(true, Ordering::Relaxed);
    let fault = audited.call("x__edit", json!({})).await.expect_err("refused");
    assert_eq!(fault.kind, FaultKind::Unavailable);
    assert_eq!(
        fault.in_one_line(),
        "'x__edit' did not run: its call cannot be recorded: the audit: the disk is full. Free some space."
    );
    assert!(audited.call("x__look", json!({})).await.is_ok(), "reads go on");
    audited.log.is_full.store(false, Ordering::Relaxed);
    audited.log.blocks.store(true, Ordering::Relaxed);
    let mut call = Box::pin(audited.begin("x__edit", json!({})).await.run());
    assert!(poll!(&mut call).is_pending());
    audited.log.is_full.store(true, Ordering::Relaxed);
    audited.log.go.notify_one();
    let fault = call.await.expect_err("it fills up during the call");
    assert!(fault.message.starts_with("'x__edit' ran, but its call cannot be recorded"), "{fault}");
    assert!(!fault.retryable);
}

#[tokio::test]
async fn refused_and_cancelled_calls_are_recorded() {
    let audited = AuditedTools::new(false);
    let refused = audited.call("x__hidden", json!({})).await.expect_err("unknown");
    assert_eq!(refused.kind, FaultKind::UnknownTool);
    // A read-only tool calls one that changes something.
    let nested = audited.call("x__look", json!({"nested": "x__edit"})).await.expect_err("refused");
    assert_eq!(nested.kind, FaultKind::Denied);
    audited.source.hangs.store(1, Ordering::Relaxed);
    let mut call = Box::pin(audited.begin("x__edit", json!({})).await.run());
    assert!(poll!(&mut call).is_pending());
    drop(call);
    let facts: Vec<_> =
        audited.queued().into_iter().map(|one| (one.tool.unwrap_or_default(), one.outcome)).collect();
    let expected = [("x__hidden", "unknown-tool"), ("x__edit", "denied"), ("x__edit", "cancelled")];
    assert_eq!(facts, expected.map(|(tool, outcome)| (tool.to_owned(), outcome)));
    assert!(audited.stored().is_empty());
}

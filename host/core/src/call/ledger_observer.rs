//! Recording of calls in the ledger. Calls that did not reach a source carry no information about the tool, so they count
//! in no statistics.

use std::sync::{Arc, atomic::Ordering};

use sha2::{Digest as _, Sha256};

use crate::{
    Principal,
    pipeline::{CallObserver, CallRecord},
    ports::{
        CallLedger, Clock,
        ledger::{CallDetails, CallSample},
    },
    quota_meter::estimated_tokens,
};

pub struct LedgerObserver {
    ledger: Arc<dyn CallLedger>,
    clock: Arc<dyn Clock>,
    /// Number of the caller without a name.
    local: u64,
}

impl LedgerObserver {
    /// Creates the observer. `host` distinguishes unnamed callers: each stdio client has its own host.
    pub fn new(ledger: Arc<dyn CallLedger>, clock: Arc<dyn Clock>, host: u64) -> Self {
        Self { ledger, clock, local: caller_number(&format!("local:{host}")) }
    }
}

impl CallObserver for LedgerObserver {
    fn observe(&self, record: &CallRecord<'_>) {
        let context = record.context;
        let in_source = context.in_source_us.load(Ordering::Relaxed);
        let Ok(entry) = context.entry() else { return };
        // The store keys this hash before it saves it; otherwise names could be guessed from it.
        let caller = match context.principal() {
            Principal::Local => self.local,
            Principal::Named(name) => caller_number(&format!("named:{name}")),
        };
        let connecting_us = context.connecting_us.load(Ordering::Relaxed);
        let details = CallDetails {
            id: context.id.to_string(),
            principal: context.principal().to_string(),
            client: context.client_name(),
            refused: !context.reached_source(),
            rule: context.notes.rule().map(|rule| rule.to_string()),
            approval: context.notes.approval().map(str::to_owned),
            total_us: record.duration.as_micros() as u64,
            waited_us: context.waited().as_micros() as u64,
            tokens_before: estimated_tokens(context.source_text_bytes.load(Ordering::Relaxed) as usize),
            trace: context.trace.ids().map(|(trace, _)| trace),
        };
        self.ledger.record(CallSample {
            at: self.clock.now_ms(),
            tool: entry.id.clone(),
            preset: Arc::clone(&context.catalog.preset),
            caller,
            ending: record.ending,
            error: record.error.as_deref().map(Into::into),
            took_us: in_source.saturating_sub(connecting_us),
            connecting_us,
            tokens_in: estimated_tokens(record.bytes_in),
            tokens_out: estimated_tokens(record.text_bytes_out),
            details,
            bodies: record.bodies.clone(),
        });
    }
}

/// Returns a number for a caller that is the same in every version of the host.
fn caller_number(name: &str) -> u64 {
    Sha256::digest(name).first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Call, Caller, Fault, FaultKind, ToolId, lock,
        pipeline::{AdmitStage, DeadlineStage, ObserveStage},
        ports::ledger::{MetricsFilter, RelatedTool, SampleEnding, ToolMetrics},
        testing::{FixedClock, Fixture, context, tool},
    };

    #[derive(Default)]
    struct Seen(Mutex<Vec<CallSample>>);

    #[async_trait]
    impl CallLedger for Seen {
        fn record(&self, sample: CallSample) {
            lock(&self.0).push(sample);
        }
        async fn metrics(&self, _: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault> {
            Ok(Vec::new())
        }
        async fn reset(&self, _: &MetricsFilter) -> Result<u64, Fault> {
            Ok(0)
        }
        async fn related(&self, _: &ToolId, _: usize) -> Result<Vec<RelatedTool>, Fault> {
            Ok(Vec::new())
        }
        async fn flush(&self) -> Result<(), Fault> {
            Ok(())
        }
    }

    async fn recorded(hangs: u32, name: &str, arguments: Value) -> Vec<CallSample> {
        recorded_by(1, None, (hangs, name, arguments)).await
    }

    async fn recorded_by(
        host: u64,
        caller: Option<&str>,
        (hangs, name, arguments): (u32, &str, Value),
    ) -> Vec<CallSample> {
        let source = Fixture::server("x", vec![tool("search", None)]);
        source.hangs.store(hangs, Ordering::Relaxed);
        let seen = Arc::new(Seen::default());
        let observer = LedgerObserver::new(Arc::clone(&seen) as _, Arc::new(FixedClock(7)), host);
        let observe = ObserveStage::new(vec![Box::new(observer)], false);
        let mut context =
            context(vec![Arc::new(observe), Arc::new(AdmitStage), Arc::new(DeadlineStage)], &source, name)
                .await;
        context.caller = caller.map_or_else(Caller::local, Caller::named);
        let _outcome = Call::new(context, arguments).run().await;
        std::mem::take(&mut *lock(&seen.0))
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_recorded_also_refused_ones_but_not_those_of_unknown_tools() {
        let replied = recorded(0, "x__search", json!({"q": "bread"})).await;
        assert_eq!(
            (replied.len(), replied[0].ending, &*replied[0].tool.name),
            (1, SampleEnding::Replied, "search")
        );
        assert_eq!((replied[0].at, replied[0].tokens_in, replied[0].tokens_out), (7, 4, 5));
        let refused = recorded(0, "x__search", json!({"is_error": true})).await;
        assert_eq!(refused[0].ending, SampleEnding::ToolError);
        assert_eq!(
            (&replied[0].error, refused[0].error.as_deref()),
            (&None, Some("search {\"is_error\":true}"))
        );
        assert_eq!(refused[0].caller, replied[0].caller);
        assert!(!replied[0].details.refused && replied[0].details.principal == "local");
        let unknown = recorded(0, "x__serach", json!({})).await;
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn unnamed_callers_differ_by_host() {
        let caller = async |host, name| recorded_by(host, name, (0, "x__search", json!({}))).await[0].caller;
        assert_eq!(caller(1, Some("a")).await, caller(2, Some("a")).await);
        assert_ne!(caller(1, Some("a")).await, caller(1, Some("b")).await);
        assert_eq!(caller(1, None).await, caller(1, None).await);
        assert_ne!(caller(1, None).await, caller(2, None).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_stopped_and_one_inside_another_are_recorded() {
        let stopped = recorded(1, "x__search", json!({})).await;
        assert_eq!(stopped[0].ending, SampleEnding::Fault(FaultKind::TimedOut));
        assert_eq!(stopped[0].took_us, 30_000_000);
        let both = recorded(0, "x__search", json!({"nested": "x__search", "q": 1})).await;
        assert!(both.len() > 1, "{both:?}");
    }
}

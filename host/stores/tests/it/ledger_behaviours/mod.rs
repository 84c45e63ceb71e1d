//! Behaviors that every ledger must have, like [`behaviours`](crate::behaviours) for the knowledge graph: calls are
//! neither lost nor counted twice.

pub(crate) mod calls;
pub(crate) mod related;
pub(crate) mod totals;

use std::sync::Arc;

use gatehouse_core::{
    SourceId, ToolId,
    ports::{
        CallLedger as _, Clock as _,
        ledger::{CallDetails, CallSample, MetricsFilter, SampleEnding, ToolMetrics},
    },
};
use gatehouse_stores::{LedgerRetention, LedgerTables};

use crate::{
    engines::LedgerFixture,
    support::{TestClock, clock},
};

macro_rules! ledger_behaviours {
    ($fixture:ty) => {
        $crate::behaviours::tests! { $fixture, ledger_behaviours;
            calls {
                calls_are_listed_as_they_were_with_every_filter,
                a_refused_call_is_listed_and_counts_nowhere,
                an_erasure_removes_whom_a_call_was_of,
                bodies_are_stored_up_to_a_limit_and_erased,
                activity_counts_calls_by_slots_of_time,
            }
            totals {
                recorded_calls_add_up_and_survive_a_restart,
                the_last_failure_keeps_its_text_for_a_week_and_its_kind_permanently,
                single_calls_are_deleted_after_a_week_and_totals_stay,
                two_hosts_share_one_ledger,
                a_clean_up_that_runs_again_changes_nothing,
                percentiles_of_days_are_those_of_the_calls,
            }
            related {
                following_tools_are_related_if_significant,
                other_tools_of_the_same_callers_are_related,
                a_gates_own_calls_between_those_of_servers_do_not_count,
            }
        }
    };
}

pub(crate) use ledger_behaviours;

/// A week, and a few small bodies.
pub(crate) const RETENTION: LedgerRetention = LedgerRetention { days: 7, body_bytes: 100 };

pub(crate) const MINUTE: u64 = 60_000;
pub(crate) const DAY: u64 = 24 * 60 * MINUTE;

pub(crate) struct Place<F> {
    engine: F,
    pub(crate) clock: Arc<TestClock>,
}

impl<F: LedgerFixture> Place<F> {
    pub(crate) fn new(engine: F) -> Self {
        Self { engine, clock: clock() }
    }

    pub(crate) fn ledger(&self) -> LedgerTables {
        self.engine.open_ledger(Arc::clone(&self.clock) as _)
    }

    pub(crate) fn call(&self, tool: &str, ending: SampleEnding) -> CallSample {
        call(self.clock.now_ms(), tool, ending)
    }

    pub(crate) async fn rows(&self, table: &str) -> i64 {
        self.engine.ledger_rows(table).await
    }
}

pub(crate) fn call(at: u64, tool: &str, ending: SampleEnding) -> CallSample {
    CallSample {
        at,
        tool: id(tool),
        preset: "p".into(),
        caller: 1,
        ending,
        error: None,
        took_us: 2_000,
        connecting_us: 5_000,
        tokens_in: 3,
        tokens_out: 40,
        details: CallDetails::default(),
        bodies: None,
    }
}

pub(crate) fn id(tool: &str) -> ToolId {
    ToolId { source: SourceId::Server("s".into()), name: tool.into() }
}

pub(crate) async fn all(ledger: &LedgerTables) -> Vec<ToolMetrics> {
    ledger.metrics(&MetricsFilter::default()).await.unwrap()
}

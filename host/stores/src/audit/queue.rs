//! Entries that wait to be written.

use std::sync::Arc;

use gatehouse_core::outcome::Fault;
use gatehouse_telemetry::metrics;
use tokio::sync::oneshot;

use super::write::TimedEntry;
use crate::sql::batch::Batch;

#[derive(Default)]
pub(super) struct AuditQueue {
    pub(super) waiting: Vec<WaitingEntry>,
    /// Entries that are not in the audit, because too many waited or little space is left.
    pub(super) lost: u64,
    /// True if a task will write the queue.
    pub(super) is_scheduled: bool,
}

impl AuditQueue {
    pub(super) fn add_lost(&mut self) {
        self.lost += 1;
        if let Some(metrics) = metrics() {
            metrics.audit_losses.series([]).inc();
        }
    }
}

/// The state of the task that writes.
#[derive(Default)]
pub(super) struct AuditWriting {
    /// The day on which old entries were last deleted.
    pub(super) cleaned: Option<i64>,
    /// A batch of which it is unknown whether it was written.
    pub(super) unconfirmed: Option<Batch<UnwrittenEntries>>,
}

#[derive(Clone)]
pub(super) struct UnwrittenEntries {
    pub(super) entries: Arc<Vec<TimedEntry>>,
    /// Entries that were lost before these.
    pub(super) lost: u64,
}

pub(super) struct WaitingEntry {
    pub(super) entry: TimedEntry,
    pub(super) done: Option<oneshot::Sender<Result<(), Fault>>>,
}

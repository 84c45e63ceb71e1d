//! Entries that wait to be written.

use gatehouse_core::outcome::Fault;
use gatehouse_telemetry::metrics;
use tokio::sync::oneshot;

use super::write::TimedEntry;

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

pub(super) struct WaitingEntry {
    pub(super) entry: TimedEntry,
    pub(super) done: Option<oneshot::Sender<Result<(), Fault>>>,
}

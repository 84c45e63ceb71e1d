//! Reports calls that cannot be recorded: in the log when the problem starts and ends, and in the ledger's health.

use std::sync::Mutex;

use gatehouse_core::{lock, outcome::Fault};
use gatehouse_telemetry::metrics;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHealth {
    /// Number of calls since the host started that are missing from the ledger.
    pub lost: u64,
    /// Reason that calls cannot be recorded now. `None` if they can.
    pub trouble: Option<String>,
}

#[derive(Default)]
pub(super) struct LossCounter {
    health: watch::Sender<LedgerHealth>,
    /// Lost calls that the log has not reported yet.
    unlogged: Mutex<u64>,
}

impl LossCounter {
    pub(super) fn subscribe(&self) -> watch::Receiver<LedgerHealth> {
        self.health.subscribe()
    }

    /// Records a failed write, and the calls lost since the last one.
    pub(super) fn record_write_failure(&self, fault: &Fault, lost: u64) {
        let reason = fault.in_one_line();
        if self.set(lost, Some(&reason)) {
            tracing::warn!("cannot record calls in the ledger; calls continue: {reason}");
        }
        *lock(&self.unlogged) += lost;
    }

    /// Records a successful write, and the calls lost before it.
    pub(super) fn record_write(&self, lost: u64) {
        self.set(lost, None);
        self.log_losses(lost, "could not be written in time");
    }

    /// Records the calls that were never written.
    pub(super) fn record_shutdown(&self, lost: u64) {
        let trouble = self.health.borrow().trouble.clone();
        self.set(lost, trouble.as_deref());
        self.log_losses(lost, "could not be written before shutdown");
    }

    fn log_losses(&self, lost: u64, reason: &str) {
        let lost = std::mem::take(&mut *lock(&self.unlogged)) + lost;
        if lost > 0 {
            tracing::warn!(lost, "calls are missing from the ledger: {reason}");
        }
    }

    /// Updates the health. Returns true if the trouble has just begun.
    fn set(&self, lost: u64, trouble: Option<&str>) -> bool {
        if let Some(metrics) = metrics().filter(|_| lost > 0) {
            metrics.ledger_losses.series([]).inc_by(lost);
        }
        let mut news = false;
        self.health.send_if_modified(|health| {
            let differs = health.trouble.as_deref() != trouble;
            news = differs && health.trouble.is_none();
            health.lost += lost;
            health.trouble = trouble.map(str::to_owned);
            lost > 0 || differs
        });
        news
    }
}

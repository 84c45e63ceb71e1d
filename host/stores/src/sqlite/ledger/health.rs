//! What is told of calls that cannot be written down: once in the log when that begins and once when it is over, and at any
//! time to whoever asks how the ledger does.

use std::sync::Mutex;

use gatehouse_core::{lock, outcome::Fault};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// How the ledger of one host does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerHealth {
    /// Calls since the start of the host that are missing in the ledger.
    pub lost: u64,
    /// Why calls cannot be written down now, where they cannot.
    pub trouble: Option<String>,
}

/// Counts what is lost.
#[derive(Default)]
pub(super) struct LossCounter {
    health: watch::Sender<LedgerHealth>,
    /// Lost calls that the log has not told of.
    unlogged: Mutex<u64>,
}

impl LossCounter {
    pub(super) fn subscribe(&self) -> watch::Receiver<LedgerHealth> {
        self.health.subscribe()
    }

    /// Writing failed, and so many calls more are lost.
    pub(super) fn record_write_failure(&self, fault: &Fault, lost: u64) {
        let why = fault.in_one_line();
        if self.set(lost, Some(&why)) {
            tracing::warn!("calls are not written down, and go on: {why}");
        }
        *lock(&self.unlogged) += lost;
    }

    /// Writing went well; before it, so many calls more were lost.
    pub(super) fn record_write(&self, lost: u64) {
        self.set(lost, None);
        self.log_losses(lost, "they could not be written in time");
    }

    /// Nothing is written any more.
    pub(super) fn record_shutdown(&self, lost: u64) {
        let trouble = self.health.borrow().trouble.clone();
        self.set(lost, trouble.as_deref());
        self.log_losses(lost, "they could not be written before the end");
    }

    fn log_losses(&self, lost: u64, why: &str) {
        let lost = std::mem::take(&mut *lock(&self.unlogged)) + lost;
        if lost > 0 {
            tracing::warn!(lost, "calls are missing in the ledger: {why}");
        }
    }

    /// Whether this trouble is news.
    fn set(&self, lost: u64, trouble: Option<&str>) -> bool {
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

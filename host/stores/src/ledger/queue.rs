//! Calls that wait to be written.

use gatehouse_core::{
    outcome::Fault,
    ports::ledger::{CallBodies, CallSample},
};

use super::sums::CallSums;

/// Maximum number of calls that one transaction writes as rows. Fewer suffice to find related tools.
const MAX_ROWS: usize = 1_000;

/// Maximum number of refused calls among them. Any caller can cause many, and nothing else limits them.
const MAX_REFUSED: usize = 5;

/// Maximum bytes of their arguments and replies. Further calls are stored without.
pub(super) const MAX_BODY_BYTES: usize = 16 << 20;

#[derive(Default)]
pub(super) struct LedgerQueue {
    pub(super) waiting: LedgerBatch,
    /// Dropped calls that have not been reported yet.
    pub(super) dropped: u64,
    /// True if a task will write the queue.
    pub(super) is_scheduled: bool,
}

#[derive(Default)]
pub(super) struct LedgerBatch {
    pub(super) sums: CallSums,
    pub(super) rows: Vec<CallSample>,
    /// Number of refused calls, also of those without a row.
    refused: usize,
    pub(super) body_bytes: usize,
}

impl LedgerBatch {
    /// Returns true without calls. Refused ones have no totals.
    pub(super) fn is_empty(&self) -> bool {
        self.sums.calls == 0 && self.rows.is_empty()
    }
}

impl LedgerQueue {
    pub(super) fn add(&mut self, mut sample: CallSample) {
        if sample.details.refused {
            self.waiting.refused += 1;
            if self.waiting.refused > MAX_REFUSED {
                return;
            }
        }
        if !self.waiting.sums.add(&sample) {
            self.dropped += 1;
        } else if self.waiting.rows.len() < MAX_ROWS {
            let room = MAX_BODY_BYTES.saturating_sub(self.waiting.body_bytes);
            sample.bodies = sample.bodies.filter(|bodies| bodies.bytes() <= room);
            self.waiting.body_bytes += sample.bodies.as_ref().map_or(0, CallBodies::bytes);
            self.waiting.rows.push(sample);
        }
    }

    /// Puts unwritten calls back into the queue if a retry may succeed. Returns the number of lost calls.
    pub(super) fn requeue(&mut self, unwritten: &LedgerBatch, fault: &Fault) -> u64 {
        if fault.retryable {
            self.dropped += self.waiting.sums.merge_back(&unwritten.sums);
            let room = MAX_ROWS.saturating_sub(self.waiting.rows.len()).min(unwritten.rows.len());
            let newest = &unwritten.rows[unwritten.rows.len() - room..];
            self.waiting.rows.splice(..0, newest.iter().cloned());
            self.waiting.refused += unwritten.refused;
            let mut room = MAX_BODY_BYTES;
            for row in self.waiting.rows.iter_mut().rev() {
                row.bodies = row.bodies.take().filter(|bodies| bodies.bytes() <= room);
                room -= row.bodies.as_ref().map_or(0, CallBodies::bytes);
            }
            self.waiting.body_bytes = MAX_BODY_BYTES - room;
        } else {
            self.dropped += unwritten.sums.calls;
        }
        std::mem::take(&mut self.dropped)
    }
}

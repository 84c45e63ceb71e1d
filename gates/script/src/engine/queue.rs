//! The queue and counters of tool calls.

use std::cell::{Cell, RefCell};

use gatehouse_sdk::{
    Fault, Reply,
    catalog::{self, ToolRequest},
};

use super::RunLimits;

/// Maximum calls per batch; the host rejects larger batches entirely.
const MAX_BATCH: usize = 32;

/// Concurrency from which the host limits it itself.
const MIN_HOST_PARALLEL: u32 = 8;

pub(super) struct QueuedCall {
    pub(super) id: u32,
    pub(super) request: ToolRequest,
}

pub(crate) struct CallQueue {
    waiting: RefCell<Vec<QueuedCall>>,
    made: Cell<u32>,
    batches: Cell<u32>,
    limits: RunLimits,
}

impl CallQueue {
    pub(super) fn new(limits: RunLimits) -> Self {
        Self { waiting: RefCell::default(), made: Cell::new(0), batches: Cell::new(0), limits }
    }

    pub(super) fn reached_limit(&self) -> Option<u32> {
        (self.made.get() >= self.limits.calls).then_some(self.limits.calls)
    }

    pub(super) fn add(&self, request: ToolRequest) -> u32 {
        let id = self.made.get() + 1;
        self.made.set(id);
        self.waiting.borrow_mut().push(QueuedCall { id, request });
        id
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Sends the queued calls, and returns the outcomes in order.
    pub(super) fn send(&self) -> Vec<(u32, Result<Reply, Fault>)> {
        let waiting = self.waiting.take();
        self.batches.set(self.batches.get() + 1);
        let parallel = self.limits.parallel.max(1);
        let part = if parallel < MIN_HOST_PARALLEL { parallel as usize } else { MAX_BATCH };
        let mut outcomes = Vec::with_capacity(waiting.len());
        let (ids, requests): (Vec<u32>, Vec<ToolRequest>) =
            waiting.into_iter().map(|one| (one.id, one.request)).unzip();
        for requests in requests.chunks(part) {
            outcomes.extend(catalog::call_many(requests));
        }
        ids.into_iter().zip(outcomes).collect()
    }

    pub(super) fn made(&self) -> u32 {
        self.made.get()
    }

    pub(super) fn batches(&self) -> u32 {
        self.batches.get()
    }
}

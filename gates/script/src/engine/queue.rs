//! Calls that wait to leave, and how many have left.

use std::cell::{Cell, RefCell};

use gatehouse_sdk::{
    Fault, Reply,
    catalog::{self, ToolRequest},
};

use super::RunLimits;

/// Calls that leave at once at most: a batch of more than a host allows is refused whole.
const MAX_BATCH: usize = 32;

/// The least number of calls at the same time that the host itself looks after.
const MIN_HOST_PARALLEL: u32 = 8;

/// A call on its way.
pub(super) struct QueuedCall {
    pub(super) id: u32,
    pub(super) request: ToolRequest,
}

/// The calls of one run.
pub(crate) struct CallQueue {
    waiting: RefCell<Vec<QueuedCall>>,
    made: Cell<u32>,
    batches: Cell<u32>,
    bounds: RunLimits,
}

impl CallQueue {
    pub(super) fn new(bounds: RunLimits) -> Self {
        Self { waiting: RefCell::default(), made: Cell::new(0), batches: Cell::new(0), bounds }
    }

    /// Whether the script has made all calls that it may.
    pub(super) fn is_used_up(&self) -> Option<u32> {
        (self.made.get() >= self.bounds.calls).then_some(self.bounds.calls)
    }

    /// Takes a call; it leaves with the next batch.
    pub(super) fn add(&self, request: ToolRequest) -> u32 {
        let id = self.made.get() + 1;
        self.made.set(id);
        self.waiting.borrow_mut().push(QueuedCall { id, request });
        id
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// Sends what waits; the outcomes are in the order of the calls.
    pub(super) fn send(&self) -> Vec<(u32, Result<Reply, Fault>)> {
        let waiting = self.waiting.take();
        self.batches.set(self.batches.get() + 1);
        let parallel = self.bounds.parallel.max(1);
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

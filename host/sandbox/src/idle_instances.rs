//! Instances that a gate with `instance = "reuse"` gave back, waiting for its next call.
//!
//! What waits holds a place in a reserve of its own, so that it never keeps a call from its place.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{capability::InstanceContext, instance::GateInstance};

/// The most instances of one gate that wait.
const MAX_IDLE_OF_GATE: usize = 8;

/// After so many calls an instance is not used again: whatever leaks in it, leaks so far and no further.
const MAX_CALLS: u32 = 1_000;

/// The instances of one gate that wait.
pub(crate) struct IdleInstances {
    idle: Mutex<Vec<IdleInstance>>,
    reserve: Arc<Semaphore>,
    most: usize,
}

struct IdleInstance {
    instance: GateInstance,
    _place: OwnedSemaphorePermit,
}

impl IdleInstances {
    /// `concurrency` is how many calls the gate may serve at once; more need not wait for one.
    pub(crate) fn new(reserve: Arc<Semaphore>, concurrency: usize) -> Self {
        Self { idle: Mutex::default(), reserve, most: concurrency.min(MAX_IDLE_OF_GATE) }
    }

    /// The one that was given back last. The caller has a place in the pool by now.
    pub(crate) fn take(&self) -> Option<GateInstance> {
        self.lock().pop().map(|idle| idle.instance)
    }

    /// Keeps an instance after a call that returned, if it is worth it and there is room. `facts` are those
    /// of no call: what waits holds nobody's catalog and reaches no engine.
    pub(crate) fn put(&self, mut instance: GateInstance, facts: InstanceContext) {
        if instance.calls() >= MAX_CALLS || instance.is_oversized() {
            return;
        }
        instance.reset(facts);
        let Ok(place) = Arc::clone(&self.reserve).try_acquire_owned() else { return };
        let mut idle = self.lock();
        if idle.len() < self.most {
            idle.push(IdleInstance { instance, _place: place });
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<IdleInstance>> {
        gatehouse_core::lock(&self.idle)
    }
}

//! Idle instances of a gate with `instance = "reuse"`. They use permits of their own, so they never delay a call.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{capability::InstanceContext, instance::GateInstance};

const MAX_IDLE_OF_GATE: usize = 8;

/// Calls after which an instance is discarded, which limits leaks.
const MAX_CALLS: u32 = 1_000;

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
    /// `concurrency` is the gate's limit; more idle instances are useless.
    pub(crate) fn new(reserve: Arc<Semaphore>, concurrency: usize) -> Self {
        Self { idle: Mutex::default(), reserve, most: concurrency.min(MAX_IDLE_OF_GATE) }
    }

    /// Takes the most recently used instance. The caller must hold a slot in the pool.
    pub(crate) fn take(&self) -> Option<GateInstance> {
        self.lock().pop().map(|idle| idle.instance)
    }

    /// Stores an instance after its call returned, if it is useful and there is room. `facts` must not contain a call,
    /// so that an idle instance has no access to a catalog.
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

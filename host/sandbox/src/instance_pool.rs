//! Slots in the instance pool, and idle instances of a gate with `instance = "reuse"`.

use std::sync::{Arc, Mutex, MutexGuard};

use gatehouse_core::{
    Principal, SourceId,
    fair_semaphore::{FairPermit, FairSemaphore},
    nesting::MAX_DEPTH,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{capability::InstanceContext, instance::GateInstance};

/// Slots by call depth: callers keep theirs while nested calls wait.
///
/// They are shared fairly among principals, then among gates, and for nested calls among pairs of caller and gate. By gate alone, its most
/// frequent caller would delay others; by caller alone, one slow gate would block its caller's other calls.
pub(crate) struct InstanceSlots([FairSemaphore; MAX_DEPTH + 1]);

impl InstanceSlots {
    pub(crate) fn new(slots: [usize; MAX_DEPTH + 1]) -> Self {
        Self(slots.map(FairSemaphore::new))
    }

    /// Takes a slot for a principal's call of `gate`, nested in calls of `within`. Waits while its share is in use.
    pub(crate) async fn take(
        &self,
        principal: &Principal,
        gate: &Arc<str>,
        within: &[SourceId],
    ) -> FairPermit {
        let slots = &self.0[within.len().min(MAX_DEPTH)];
        match within.last() {
            None => slots.acquire(principal, gate).await,
            Some(caller) => slots.acquire(principal, &format!("{caller}: {gate}").into()).await,
        }
    }
}

const MAX_IDLE_OF_GATE: usize = 8;

/// Calls after which an instance is discarded, which limits leaks.
const MAX_CALLS: u32 = 1_000;

/// Idle instances use permits of their own, so they never delay a call.
pub(crate) struct IdleInstances {
    idle: Mutex<Vec<IdleInstance>>,
    permits: Arc<Semaphore>,
    max_idle: usize,
}

struct IdleInstance {
    instance: GateInstance,
    _permit: OwnedSemaphorePermit,
}

impl IdleInstances {
    /// `concurrency` is the gate's limit; more idle instances are useless.
    pub(crate) fn new(permits: Arc<Semaphore>, concurrency: usize) -> Self {
        Self { idle: Mutex::default(), permits, max_idle: concurrency.min(MAX_IDLE_OF_GATE) }
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
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else { return };
        let mut idle = self.lock();
        if idle.len() < self.max_idle {
            idle.push(IdleInstance { instance, _permit: permit });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<IdleInstance>> {
        gatehouse_core::lock(&self.idle)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn neither_a_caller_nor_a_slow_gate_takes_the_slots_of_others() {
        let slots = InstanceSlots::new([192, 16, 16, 16, 16]);
        let [greedy, modest] = ["greedy", "modest"].map(|name| [SourceId::Gate(name.into())]);
        let [slow, quick] = ["slow", "quick"].map(Arc::<str>::from);
        let take = |gate, within| slots.take(&Principal::Local, gate, within).now_or_never();
        let held: Vec<_> = std::iter::from_fn(|| take(&slow, &greedy)).collect();
        assert_eq!(held.len(), 8);
        assert!(take(&slow, &modest).is_some(), "another caller of the same gate");
        assert!(take(&quick, &greedy).is_some(), "another gate for the same caller");
        assert!(take(&slow, &[]).is_some(), "a client");
    }

    #[test]
    fn a_noisy_principal_takes_the_slots_of_no_other() {
        let slots = InstanceSlots::new([192, 16, 16, 16, 16]);
        let [noisy, quiet] = ["noisy", "quiet"].map(|name| Principal::Named(name.into()));
        let within = [SourceId::Gate("proxy".into())];
        for depth in [&[][..], &within] {
            let take = |principal, gate: String| slots.take(principal, &gate.into(), depth).now_or_never();
            let gates = (0..400).map(|n| format!("gate-{n}"));
            let held: Vec<_> = gates.filter_map(|gate| take(&noisy, gate)).collect();
            assert!(!held.is_empty() && held.len() <= 96, "{}", held.len());
            assert!(take(&noisy, "one more".into()).is_none());
            let quiet: Vec<_> = (0..3).map_while(|_| take(&quiet, "gate-0".into())).collect();
            assert_eq!(quiet.len(), 3, "at once, although the other one waits");
        }
    }
}

//! Number of concurrent instances and their shared memory, derived from the limits of the system; their slots in the
//! pool, and idle instances of gates with `instance = "reuse"`.

use std::sync::{Arc, Mutex, MutexGuard};

use gatehouse_core::{
    CallDeadline, Principal, SourceId,
    budget::ByteBudget,
    fair_semaphore::{FairPermit, FairSemaphore},
    nesting::MAX_DEPTH,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};

use crate::{
    capability::InstanceContext,
    engine::{INSTANCE_ADDRESS_SPACE, KEEP_RESIDENT},
    instance::GateInstance,
};

const MAX_INSTANCES: u64 = 256;

/// Minimum instances, even with little memory: a few for clients and one per depth of nested calls.
const MIN_INSTANCES: u64 = 8;

/// Minimum instances of a pool. With less address space, memories are allocated on demand.
const MIN_POOL: u64 = 16;

/// Bytes that the host uses without calls: program, databases, compiled gates.
const OWN_MEMORY: u64 = 64 << 20;

/// Bytes that a light instance uses.
const INSTANCE_MEMORY: u64 = 4 << 20;

/// Address space for an instance whose memory is allocated on demand: the memory, its stack, and the guard pages around
/// both.
const UNPOOLED_ADDRESS_SPACE: u64 = 16 << 20;

/// Instances for each idle one.
const IDLE_SHARE: u64 = 4;

/// Maximum memories that stay resident without an instance.
const MAX_WARM: u64 = 100;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemLimits {
    /// Bytes. `None` if unlimited.
    pub memory: Option<u64>,
    /// Bytes, as set by `ulimit -v`. `None` if unlimited.
    pub address_space: Option<u64>,
    /// Bytes of the machine. Bounds the memory of all calls together, but not their number. `None` if unknown.
    pub machine: Option<u64>,
}

#[derive(Clone)]
pub(crate) struct SharedMemory {
    pub(crate) guests: ByteBudget,
    /// Host memory held for guests.
    pub(crate) host: ByteBudget,
    /// Bytes of both. `None` if nothing is known that limits them.
    pub(crate) bytes: Option<u64>,
}

pub(crate) struct InstanceCapacity {
    pub(crate) places: [usize; MAX_DEPTH + 1],
    /// Idle instances, over all gates that reuse them.
    pub(crate) idle: usize,
    /// True if the pool fits into the address space.
    pub(crate) pooled: bool,
    pub(crate) warm: u32,
    pub(crate) memory: SharedMemory,
    pub(crate) limits: SystemLimits,
}

impl InstanceCapacity {
    pub(crate) fn new(limits: SystemLimits) -> Self {
        let memory = limits.memory.into_iter().chain(limits.address_space).min();
        let room = memory.map(|bytes| bytes.saturating_sub(OWN_MEMORY));
        let instances = room.map_or(MAX_INSTANCES, |room| room / INSTANCE_MEMORY);
        let instances = instances.clamp(MIN_INSTANCES, MAX_INSTANCES);
        // Half of the address space is for everything else.
        let fits = |instances: &u64| {
            let pool = (instances + instances / IDLE_SHARE) * INSTANCE_ADDRESS_SPACE;
            limits.address_space.is_none_or(|space| pool <= space / 2)
        };
        let halves = std::iter::successors(Some(instances), |instances| Some(instances / 2));
        let pool = halves.take_while(|half| *half == instances || *half >= MIN_POOL).find(fits);
        let pooled = pool.is_some();
        let instances = pool.unwrap_or_else(|| {
            // The program, its threads and their allocators use most of a small address space.
            let space = limits.address_space.map_or(u64::MAX, |space| space / 4);
            instances.min(space / UNPOOLED_ADDRESS_SPACE).max(MIN_INSTANCES)
        });
        // Calls at the deepest level wait for no other call, so each nested call eventually gets a slot.
        let nested = (instances / 16).max(1);
        let mut places = [nested as usize; MAX_DEPTH + 1];
        places[0] = (instances - MAX_DEPTH as u64 * nested) as usize;
        let machine = limits.machine.map(|bytes| bytes.saturating_sub(OWN_MEMORY));
        let shared = room.into_iter().chain(machine).min();
        let budget =
            |share: u64| ByteBudget::new(shared.map_or(usize::MAX, |bytes| (bytes / share) as usize));
        let memory = SharedMemory {
            guests: budget(2),
            host: budget(4),
            bytes: shared.map(|bytes| (bytes / 2 + bytes / 4) >> 20 << 20),
        };
        let warm = room.map_or(MAX_WARM, |room| (room / 8 / KEEP_RESIDENT as u64).min(MAX_WARM));
        let idle = (instances / IDLE_SHARE) as usize;
        Self { places, idle, pooled, warm: warm as u32, memory, limits }
    }

    pub(crate) fn pool(&self) -> u32 {
        (self.places.iter().sum::<usize>() + self.idle) as u32
    }
}

/// Slots by call depth: callers keep theirs while nested calls wait.
///
/// They are shared fairly among principals, then among gates, and for nested calls among pairs of caller and gate. By
/// gate alone, its most frequent caller would delay others; by caller alone, one slow gate would block its caller's
/// other calls.
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

    /// Returns the slots that are free.
    pub(crate) fn free(&self) -> usize {
        self.0.iter().map(FairSemaphore::free).sum()
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
        // If memory has grown much, a new instance is better.
        if instance.calls >= MAX_CALLS || instance.store.data().caps.half_full() {
            return;
        }
        instance.begin(facts, CallDeadline::fixed(Instant::now()));
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

    const GIB: u64 = 1 << 30;

    fn sized(memory: Option<u64>, address_space: Option<u64>) -> ([usize; 5], usize, bool, u32) {
        let capacity = InstanceCapacity::new(SystemLimits { memory, address_space, machine: None });
        (capacity.places, capacity.idle, capacity.pooled, capacity.warm)
    }

    #[test]
    fn what_is_unlimited_has_the_whole_pool() {
        assert_eq!(sized(None, None), ([192, 16, 16, 16, 16], 64, true, 100));
        assert_eq!(sized(Some(8 * GIB), None), ([192, 16, 16, 16, 16], 64, true, 100));
        assert_eq!(InstanceCapacity::new(SystemLimits::default()).pool(), 320);
    }

    #[test]
    fn little_memory_has_few_instances_and_small_budgets() {
        assert_eq!(sized(Some(200 << 20), None), ([26, 2, 2, 2, 2], 8, true, 34));
        assert_eq!(sized(Some(128 << 20), None), ([12, 1, 1, 1, 1], 4, true, 16));
        assert_eq!(sized(Some(1), None), ([4, 1, 1, 1, 1], 2, true, 0));
        let small = Some(200 << 20);
        let limits = SystemLimits { memory: small, address_space: None, machine: Some(8 * GIB) };
        for limits in [limits, SystemLimits { machine: small, ..SystemLimits::default() }] {
            let SharedMemory { guests, host, bytes } = InstanceCapacity::new(limits).memory;
            assert_eq!(bytes, Some(102 << 20));
            assert!(guests.reserve().take(68 << 20) && !guests.reserve().take((68 << 20) + 1));
            assert!(host.reserve().take(34 << 20) && !host.reserve().take((34 << 20) + 1));
        }
        let machine = SystemLimits { machine: small, ..SystemLimits::default() };
        assert_eq!(InstanceCapacity::new(machine).pool(), 320, "only limits of the process make it smaller");
    }

    #[test]
    fn little_address_space_has_a_smaller_pool_and_then_none() {
        assert_eq!(sized(None, Some(1000 * GIB)), ([192, 16, 16, 16, 16], 64, true, 100));
        assert_eq!(sized(None, Some(200 * GIB)), ([48, 4, 4, 4, 4], 16, true, 100));
        assert_eq!(sized(None, Some(60 * GIB)), ([12, 1, 1, 1, 1], 4, true, 100));
        assert_eq!(sized(None, Some(4 * GIB)), ([48, 4, 4, 4, 4], 16, false, 100));
        assert_eq!(sized(None, Some(GIB)), ([12, 1, 1, 1, 1], 4, false, 100));
        assert_eq!(sized(None, Some(GIB / 2)), ([4, 1, 1, 1, 1], 2, false, 100));
    }

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

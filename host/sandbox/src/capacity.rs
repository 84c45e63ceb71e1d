//! Number of concurrent instances and their shared memory, derived from the limits of the system.

use gatehouse_core::{budget::ByteBudget, nesting::MAX_DEPTH};

use crate::engine::{INSTANCE_ADDRESS_SPACE, KEEP_RESIDENT};

const MAX_INSTANCES: u64 = 256;

/// Minimum instances, even with little memory: a few for clients and one per depth of nested calls.
const MIN_INSTANCES: u64 = 8;

/// Minimum instances of a pool. With less address space, memories are allocated on demand.
const MIN_POOL: u64 = 16;

/// Bytes that the host uses without calls: program, databases, compiled gates.
const OWN_MEMORY: u64 = 64 << 20;

/// Bytes that a light instance uses.
const INSTANCE_MEMORY: u64 = 4 << 20;

/// Address space for an instance whose memory is allocated on demand: the memory, its stack, and the guard pages around both.
const UNPOOLED_ADDRESS_SPACE: u64 = 16 << 20;

/// Maximum memories that stay resident without an instance.
const MAX_WARM: u64 = 100;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemLimits {
    /// Bytes. `None` if unlimited.
    pub memory: Option<u64>,
    /// Bytes, as set by `ulimit -v`. `None` if unlimited.
    pub address_space: Option<u64>,
}

#[derive(Clone)]
pub(crate) struct SharedMemory {
    pub(crate) guests: ByteBudget,
    /// Host memory held for guests.
    pub(crate) host: ByteBudget,
    /// Bytes of both. `None` if unlimited.
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
            let pool = (instances + idle(*instances)) * INSTANCE_ADDRESS_SPACE;
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
        let budget = |share: u64| ByteBudget::new(room.map_or(usize::MAX, |room| (room / share) as usize));
        let shared = SharedMemory {
            guests: budget(2),
            host: budget(4),
            bytes: room.map(|room| (room / 2 + room / 4) >> 20 << 20),
        };
        let warm = room.map_or(MAX_WARM, |room| (room / 8 / KEEP_RESIDENT as u64).min(MAX_WARM));
        let idle = idle(instances) as usize;
        Self { places, idle, pooled, warm: warm as u32, memory: shared, limits }
    }

    pub(crate) fn pool(&self) -> u32 {
        (self.places.iter().sum::<usize>() + self.idle) as u32
    }
}

fn idle(instances: u64) -> u64 {
    instances / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn sized(memory: Option<u64>, address_space: Option<u64>) -> ([usize; 5], usize, bool, u32) {
        let capacity = InstanceCapacity::new(SystemLimits { memory, address_space });
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
        let SharedMemory { guests, host, bytes } =
            InstanceCapacity::new(SystemLimits { memory: Some(200 << 20), address_space: None }).memory;
        assert_eq!(bytes, Some(102 << 20));
        assert!(guests.reserve().take(68 << 20) && !guests.reserve().take((68 << 20) + 1));
        assert!(host.reserve().take(34 << 20) && !host.reserve().take((34 << 20) + 1));
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
}

//! How many instances there may be at the same time, and what they may take together: all that the pool has room for,
//! or less where the system gives the process less.

use gatehouse_core::{budget::ByteBudget, nesting::MAX_DEPTH};

use crate::engine::{INSTANCE_ADDRESS_SPACE, KEEP_RESIDENT};

/// Instances that may serve a call at the same time, over all gates.
const MAX_INSTANCES: u64 = 256;

/// The fewest, however little memory there is: a few for clients, and one for each depth of nested calls.
const MIN_INSTANCES: u64 = 8;

/// The smallest pool that is of use. With less address space each memory is allocated when it is needed.
const MIN_POOL: u64 = 16;

/// Bytes of memory that the host takes without any call: its program, databases, compiled gates.
const OWN_MEMORY: u64 = 64 << 20;

/// Bytes of memory of an instance that does little.
const INSTANCE_MEMORY: u64 = 4 << 20;

/// Maximum memories that stay resident without an instance.
const MAX_WARM: u64 = 100;

/// What the system lets this process have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SystemLimits {
    /// Bytes of memory. `None` if unlimited.
    pub memory: Option<u64>,
    /// Bytes of address space, as `ulimit -v` limits it. `None` if unlimited.
    pub address_space: Option<u64>,
}

/// What all instances may take together.
#[derive(Clone)]
pub(crate) struct SharedMemory {
    /// Their linear memories.
    pub(crate) guests: ByteBudget,
    /// What the host holds for them.
    pub(crate) host: ByteBudget,
    /// Bytes of both. `None` if unlimited.
    pub(crate) bytes: Option<u64>,
}

/// Instances at the same time, and their memory.
pub(crate) struct InstanceCapacity {
    /// Instances for calls of each depth.
    pub(crate) places: [usize; MAX_DEPTH + 1],
    /// Instances that may wait for a call of a gate that reuses them, over all gates.
    pub(crate) idle: usize,
    /// True if the pool fits into the address space.
    pub(crate) pooled: bool,
    /// Memories that stay resident without an instance.
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
        let instances = pool.unwrap_or(instances);
        // The deepest wait for nobody, so every call gets its place.
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

    /// Instances that the pool has room for.
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
        assert_eq!(sized(Some(200 << 20), None), ([26, 2, 2, 2, 2], 8, true, 8));
        assert_eq!(sized(Some(128 << 20), None), ([12, 1, 1, 1, 1], 4, true, 4));
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
        assert_eq!(sized(None, Some(4 * GIB)), ([192, 16, 16, 16, 16], 64, false, 100));
        assert_eq!(sized(None, Some(GIB / 2)), ([84, 7, 7, 7, 7], 28, false, 28));
    }
}

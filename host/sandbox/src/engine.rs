//! The wasmtime engine, its pool and the epoch clock that interrupts running guests, created on first use. A host that
//! only lists tools from its index does not need them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use wasmtime::{
    CacheStore, Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    component::Linker,
};

use crate::{
    abi,
    capacity::{InstanceCapacity, SystemLimits},
    limits::{MAX_MEMORY, MAX_TABLE_ELEMENTS, format_bytes},
    state::State,
    wasi,
};

/// Maximum core modules in one instance. Interpreters consist of several, each with its own tables.
pub(crate) const MAX_CORE_INSTANCES: u32 = 20;
pub(crate) const MAX_MEMORIES: u32 = 4;
pub(crate) const MAX_TABLES: u32 = 8;

/// Bytes of each memory that stay mapped between calls. After a burst, as many slots keep that much for good.
pub(crate) const KEEP_RESIDENT: usize = 512 << 10;

/// Bytes of address space between two memories; wasmtime's default.
const GUARD_BYTES: usize = 32 << 20;

const STACK_BYTES: usize = 3 << 20;

/// Address space that the pool reserves per instance: memories, tables (up to 16 bytes per element) and stack.
pub(crate) const INSTANCE_ADDRESS_SPACE: u64 = MAX_MEMORIES as u64 * (MAX_MEMORY + GUARD_BYTES) as u64
    + MAX_TABLES as u64 * MAX_TABLE_ELEMENTS as u64 * 16
    + STACK_BYTES as u64;

/// An engine with its linker. A component can only be instantiated with the linker of its engine.
pub(crate) struct WasmRuntime {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<State>,
    pub(crate) ticker: Ticker,
}

impl WasmRuntime {
    /// Creates the engine and starts the ticker. The compiler reads and writes the cache `functions` if there is one.
    pub(crate) fn new(
        capacity: &InstanceCapacity,
        functions: Option<Arc<dyn CacheStore>>,
    ) -> wasmtime::Result<Self> {
        let engine = engine(capacity, functions)?;
        let ticker = Ticker::start(&engine)?;
        let linker = linker(&engine)?;
        Ok(Self { engine, linker, ticker })
    }
}

/// Creates an engine with a pool, or without if there is too little address space for one.
fn engine(capacity: &InstanceCapacity, functions: Option<Arc<dyn CacheStore>>) -> wasmtime::Result<Engine> {
    let build = |mut config: Config| {
        if let Some(functions) = &functions {
            config.enable_incremental_compilation(Arc::clone(functions))?;
        }
        Engine::new(&config)
    };
    let instances = capacity.pool();
    let space = capacity.limits.address_space.map(format_bytes);
    if capacity.pooled {
        if let Some(space) = &space {
            tracing::info!(
                "address space is limited to {space} (`ulimit -v`); the pool has {instances} instances"
            );
        }
        match build(pooled(capacity)) {
            Ok(engine) => return Ok(engine),
            Err(error) => tracing::warn!(
                "not enough address space for a pool of {instances} instances; gate memory is allocated per call, which is slower: {error:#}"
            ),
        }
    } else if let Some(space) = &space {
        tracing::warn!(
            "address space is limited to {space} (`ulimit -v`); gate memory is allocated per call, which is slower"
        );
    }
    build(on_demand())
}

/// Creates an engine for every processor of this architecture: naming a target restricts the compiler to its baseline
/// features.
pub(crate) fn portable() -> wasmtime::Result<Engine> {
    let mut config = pooled(&InstanceCapacity::new(SystemLimits::default()));
    let system = if cfg!(target_os = "macos") { "apple-darwin" } else { "unknown-linux-gnu" };
    Engine::new(config.target(&format!("{}-{system}", std::env::consts::ARCH))?)
}

fn pooled(capacity: &InstanceCapacity) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    let instances = capacity.pool();
    // Room for every instance at its maximum, so an [`InstanceSlots`](crate::capacity) permit guarantees a place.
    // Memories and tables are only address space until they are touched.
    pool.total_component_instances(instances)
        .total_core_instances(MAX_CORE_INSTANCES * instances)
        .total_memories(MAX_MEMORIES * instances)
        .total_tables(MAX_TABLES * instances)
        .total_stacks(instances)
        .max_memory_size(MAX_MEMORY)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .table_elements(MAX_TABLE_ELEMENTS)
        // Host metadata of an instance. The component limit is the sum of its core instances.
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(1 << 20)
        .max_unused_warm_slots(capacity.warm)
        // Pages that stay mapped between calls. With pagemap_scan, only touched pages are reset.
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    let mut config = config();
    config
        .memory_reservation(MAX_MEMORY as u64)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// Reserves no address space. Compiled code checks each access, and a memory may move when it grows.
fn on_demand() -> Config {
    let mut config = config();
    config
        .memory_reservation(0)
        .memory_reservation_for_growth(1 << 20)
        .memory_guard_size(0)
        .guard_before_linear_memory(false)
        .allocation_strategy(InstanceAllocationStrategy::OnDemand);
    config
}

fn config() -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .parallel_compilation(true)
        // Interpreters recurse deeply in their parsers. Only touched pages use memory.
        .max_wasm_stack(2 << 20)
        // Includes room for host functions, which run on the guest's stack.
        .async_stack_size(STACK_BYTES);
    config
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker)?;
    abi::add_to_linker(&mut linker)?;
    Ok(linker)
}

/// Interval at which guests check their deadline: precise enough, with no measurable cost on short calls.
const TICK_INTERVAL: Duration = Duration::from_millis(2);

/// Ticks without a guest before the clock sleeps. Waking it costs more than a tick.
const LINGER_TICKS: u32 = 500;

#[derive(Default)]
struct TickerState {
    running: AtomicUsize,
    asleep: AtomicBool,
    closed: AtomicBool,
}

/// Increments the engine's epoch while guests run, so an idle host uses no CPU time. Dropping it stops the thread.
pub(crate) struct Ticker {
    shared: Arc<TickerState>,
    thread: Option<JoinHandle<()>>,
}

/// Keeps the clock ticking until it is dropped.
pub(crate) struct GuestGuard<'a>(&'a TickerState);

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(TickerState::default());
        let (seen, engine) = (Arc::clone(&shared), engine.clone());
        let thread = thread::Builder::new().name("gate-clock".into()).spawn(move || tick(&seen, &engine))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Starts the clock if it sleeps, and keeps it ticking until the guard is dropped.
    pub(crate) fn enter_guest(&self) -> GuestGuard<'_> {
        self.shared.running.fetch_add(1, SeqCst);
        // The clock sets `asleep` before it checks `running`; this function increments `running` before it checks
        // `asleep`. At least one sees the other's write.
        if self.shared.asleep.load(SeqCst) {
            self.wake();
        }
        GuestGuard(&self.shared)
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for GuestGuard<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.closed.store(true, SeqCst);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // The thread ends within a tick. A panic in it has already been printed.
            drop(thread.join());
        }
    }
}

fn tick(shared: &TickerState, engine: &Engine) {
    let mut idle = 0;
    while !shared.closed.load(SeqCst) {
        idle = if shared.running.load(SeqCst) > 0 { 0 } else { idle + 1 };
        if idle > LINGER_TICKS {
            shared.asleep.store(true, SeqCst);
            if shared.running.load(SeqCst) == 0 && !shared.closed.load(SeqCst) {
                thread::park();
            }
            shared.asleep.store(false, SeqCst);
            idle = 0;
            if shared.closed.load(SeqCst) {
                return;
            }
        }
        engine.increment_epoch();
        // Unlike a sleep, this ends when the clock is dropped, for which the exit of the host waits.
        thread::park_timeout(TICK_INTERVAL);
    }
}

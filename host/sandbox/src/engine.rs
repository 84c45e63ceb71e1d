//! The wasmtime engine and its pool, made once and on first use: a host that only lists
//! tools from its index never pays for it.

use std::sync::Arc;

use wasmtime::{
    CacheStore, Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    component::Linker,
};

use crate::{
    abi,
    capacity::{InstanceCapacity, SystemLimits},
    limits::{MAX_MEMORY, MAX_TABLE_ELEMENTS, format_bytes},
    state::State,
    ticker::Ticker,
    wasi,
};

/// What one instance may be made of. Interpreters bring several core modules, each with its tables.
pub(crate) const MAX_CORE_INSTANCES: u32 = 20;
/// Linear memories of one instance.
pub(crate) const MAX_MEMORIES: u32 = 4;
/// Tables of one instance.
pub(crate) const MAX_TABLES: u32 = 8;

/// Bytes of a memory that stay mapped between calls.
pub(crate) const KEEP_RESIDENT: usize = 2 << 20;

/// Bytes of address space between two memories, as wasmtime has it.
const GUARD_BYTES: usize = 32 << 20;

/// Bytes of the stack that a call has.
const STACK_BYTES: usize = 3 << 20;

/// Bytes of address space that the pool takes for an instance: its memories and tables, of 16 bytes an element at most,
/// and its stack.
pub(crate) const INSTANCE_ADDRESS_SPACE: u64 = MAX_MEMORIES as u64 * (MAX_MEMORY + GUARD_BYTES) as u64
    + MAX_TABLES as u64 * MAX_TABLE_ELEMENTS as u64 * 16
    + STACK_BYTES as u64;

/// This machine's kind, as compilers name it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
const TARGET: &str = "x86_64-unknown-linux-gnu";
#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
const TARGET: &str = "aarch64-unknown-linux-gnu";
#[cfg(all(target_os = "macos", target_arch = "x86_64"))]
const TARGET: &str = "x86_64-apple-darwin";
#[cfg(all(target_os = "macos", target_arch = "aarch64"))]
const TARGET: &str = "aarch64-apple-darwin";

/// Engine and linker belong together: a component instantiates only with what this linker offers.
pub(crate) struct WasmRuntime {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<State>,
    pub(crate) ticker: Ticker,
}

impl WasmRuntime {
    /// Builds both and starts the clock. The compiler looks for functions among `functions`, where there are any, and
    /// puts those there that it makes.
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

/// An engine with a pool, or without one where the address space is too small for it.
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
                "the address space is limited to {space} (`ulimit -v`): the pool has {instances} instances"
            );
        }
        match build(pooled(capacity)) {
            Ok(engine) => return Ok(engine),
            Err(error) => tracing::warn!(
                "the system gives no address space for a pool of {instances} instances, so memory of gates is allocated for each call, which takes longer: {error:#}"
            ),
        }
    } else if let Some(space) = &space {
        tracing::warn!(
            "the address space is limited to {space} (`ulimit -v`), so memory of gates is allocated for each call, which takes longer"
        );
    }
    build(on_demand())
}

/// An engine that compiles for every processor of this kind: a target that is named has no features but those that all have.
pub(crate) fn portable() -> wasmtime::Result<Engine> {
    let mut config = pooled(&InstanceCapacity::new(SystemLimits::default()));
    Engine::new(config.target(TARGET)?)
}

fn pooled(capacity: &InstanceCapacity) -> Config {
    let mut pool = PoolingAllocationConfig::new();
    let instances = capacity.pool();
    // Every instance may have all that it may have: then a place in front of the pool is a place in it.
    // Memories and tables are address space only, until a guest touches them.
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
        // What the host keeps of an instance, its core instances included: the first is the sum of the second.
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(1 << 20)
        .max_unused_warm_slots(capacity.warm)
        // What stays mapped between calls; the kernel then tells which pages were touched, and only
        // those are reset.
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

/// No address space is reserved: code checks each access instead, and a memory that grows may be moved.
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
        // Engines of other languages recurse deep in their parsers. Only what is touched takes memory.
        .max_wasm_stack(2 << 20)
        // Host functions run on the guest's stack too.
        .async_stack_size(STACK_BYTES);
    config
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker)?;
    abi::add_to_linker(&mut linker)?;
    Ok(linker)
}

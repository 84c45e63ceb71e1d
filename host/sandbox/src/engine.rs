//! The wasmtime engine and its pool, made once and on first use: a host that only lists
//! tools from its index never pays for it.

use std::sync::Arc;

use gatehouse_core::nesting::MAX_DEPTH;
use wasmtime::{
    CacheStore, Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig,
    component::Linker,
};

use crate::{
    abi,
    limits::{MAX_MEMORY, MAX_TABLE_ELEMENTS},
    state::State,
    ticker::Ticker,
    wasi,
};

/// Instances that may serve a call at the same time, over all gates.
const MAX_INSTANCES: u32 = 256;

/// How many of them are for calls of each depth. The deepest wait for nobody, so every call gets its place.
pub(crate) const PLACES: [usize; MAX_DEPTH + 1] = [192, 16, 16, 16, 16];

const _: () = assert!(192 + 4 * 16 == MAX_INSTANCES);
/// Instances that may wait for a call of a gate that reuses them, over all gates.
pub(crate) const MAX_IDLE: u32 = 64;
/// What the pool has room for.
const POOL: u32 = MAX_INSTANCES + MAX_IDLE;

/// What one instance may be made of. Interpreters bring several core modules, each with its tables.
pub(crate) const MAX_CORE_INSTANCES: u32 = 20;
/// Linear memories of one instance.
pub(crate) const MAX_MEMORIES: u32 = 4;
/// Tables of one instance.
pub(crate) const MAX_TABLES: u32 = 8;

/// Engine and linker belong together: a component instantiates only with what this linker offers.
pub(crate) struct Runtime {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<State>,
    pub(crate) ticker: Ticker,
}

impl Runtime {
    /// Builds both and starts the clock. The compiler looks for functions among `functions`, where there are any, and
    /// puts those there that it makes.
    pub(crate) fn new(functions: Option<Arc<dyn CacheStore>>) -> wasmtime::Result<Self> {
        let mut config = config();
        if let Some(functions) = functions {
            config.enable_incremental_compilation(functions)?;
        }
        let engine = Engine::new(&config)?;
        let ticker = Ticker::start(&engine)?;
        let linker = linker(&engine)?;
        Ok(Self { engine, linker, ticker })
    }
}

fn config() -> Config {
    let mut pool = PoolingAllocationConfig::new();
    // Every instance may have all that it may have: then a place in front of the pool is a place in it.
    // Memories and tables are address space only, until a guest touches them.
    pool.total_component_instances(POOL)
        .total_core_instances(MAX_CORE_INSTANCES * POOL)
        .total_memories(MAX_MEMORIES * POOL)
        .total_tables(MAX_TABLES * POOL)
        .total_stacks(POOL)
        .max_memory_size(MAX_MEMORY)
        .max_core_instances_per_component(MAX_CORE_INSTANCES)
        .max_memories_per_component(MAX_MEMORIES)
        .max_tables_per_component(MAX_TABLES)
        .table_elements(MAX_TABLE_ELEMENTS)
        // What the host keeps of an instance, its core instances included: the first is the sum of the second.
        .max_component_instance_size(1 << 20)
        .max_core_instance_size(1 << 20)
        // What stays mapped between calls; the kernel then tells which pages were touched, and only
        // those are reset.
        .linear_memory_keep_resident(2 << 20)
        .table_keep_resident(64 << 10)
        .async_stack_keep_resident(64 << 10)
        .pagemap_scan(Enabled::Auto);
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .parallel_compilation(true)
        // Engines of other languages recurse deep in their parsers. Only what is touched takes memory.
        .max_wasm_stack(2 << 20)
        // Host functions run on the guest's stack too.
        .async_stack_size(3 << 20)
        .memory_reservation(MAX_MEMORY as u64)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker)?;
    abi::add_to_linker(&mut linker)?;
    Ok(linker)
}

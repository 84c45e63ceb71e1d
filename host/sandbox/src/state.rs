//! Everything one running gate can reach. Reading this struct is knowing the sandbox.

use wasmtime::{ResourceLimiter, StoreLimits, StoreLimitsBuilder};
use wasmtime_wasi::{
    ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView, p2::pipe::MemoryOutputPipe,
};

use crate::{
    capability::{CallFacts, Capabilities},
    capture::Capture,
    engine::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLE_ELEMENTS, MAX_TABLES},
    limits::Limits,
};

/// The host side of one instance. It lives exactly as long as one call.
pub(crate) struct State {
    /// The capabilities, each with its grant.
    pub(crate) capabilities: Capabilities,
    /// Memory and tables.
    pub(crate) caps: Caps,
    /// Clocks, randomness and captured output; no file, no variable, no socket.
    wasi: WasiCtx,
    table: ResourceTable,
    /// What the guest wrote to standard error and output.
    output: Capture,
}

impl State {
    pub(crate) fn new(facts: CallFacts, limits: &Limits) -> Self {
        let output = Capture::new(limits.stderr);
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdout(output.clone()).stderr(output.clone());
        wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
        Self {
            capabilities: Capabilities::new(facts),
            caps: Caps::new(limits.memory),
            wasi: wasi.build(),
            table: ResourceTable::new(),
            output,
        }
    }

    /// The last lines the guest wrote, for the message of a trap.
    pub(crate) fn last_words(&self) -> String {
        let text = self.output.text();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let start = lines.len().saturating_sub(5);
        gatehouse_core::names::quoted(&lines[start..].join(" | "), 500)
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Caps memory and tables, and remembers that it did: the guest only sees an allocation fail, and its
/// trap says nothing of the reason.
pub(crate) struct Caps {
    limits: StoreLimits,
    pub(crate) memory_refused: bool,
}

impl Caps {
    fn new(memory: usize) -> Self {
        let limits = StoreLimitsBuilder::new()
            .memory_size(memory)
            .instances(MAX_CORE_INSTANCES as usize)
            .memories(MAX_MEMORIES as usize)
            .tables(MAX_TABLES as usize)
            .table_elements(MAX_TABLE_ELEMENTS)
            .build();
        Self { limits, memory_refused: false }
    }
}

impl ResourceLimiter for Caps {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let allowed = self.limits.memory_growing(current, desired, maximum)?;
        self.memory_refused |= !allowed;
        Ok(allowed)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.limits.table_growing(current, desired, maximum)
    }

    fn instances(&self) -> usize {
        self.limits.instances()
    }

    fn tables(&self) -> usize {
        self.limits.tables()
    }

    fn memories(&self) -> usize {
        self.limits.memories()
    }
}

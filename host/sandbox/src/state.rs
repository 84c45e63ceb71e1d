//! Everything one running gate can reach. Reading this struct is knowing the sandbox.

use wasmtime::ResourceLimiter;
use wasmtime_wasi::{ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::{
    capability::{CallFacts, Capabilities, http::Outgoing},
    capture::Capture,
    engine::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLE_ELEMENTS, MAX_TABLES},
    limits::Limits,
};

/// The most random bytes a guest may ask for at once.
const MAX_RANDOM: u64 = 64 << 10;

/// Host objects (streams, pollables) that a guest may hold.
pub(crate) const MAX_HANDLES: usize = 1 << 10;

/// The host side of one instance. It lives exactly as long as one call.
pub(crate) struct State {
    /// The capabilities, each with its grant.
    pub(crate) capabilities: Capabilities,
    /// Memory and tables.
    pub(crate) caps: Caps,
    /// Clocks, randomness and captured output; no file, no variable, no socket.
    wasi: WasiCtx,
    wasi_http: WasiHttpCtx,
    /// Requests by `wasi:http`: through the capability `http`.
    outgoing: Outgoing,
    table: ResourceTable,
    /// What the guest wrote to standard error and output.
    output: Capture,
}

impl State {
    pub(crate) fn new(facts: CallFacts, limits: &Limits) -> Self {
        let output = Capture::new(limits.stderr);
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdout(output.clone()).stderr(output.clone());
        // Made a byte at a time, in one call that no deadline interrupts.
        wasi.max_random_size(MAX_RANDOM);
        wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        let capabilities = Capabilities::new(facts);
        Self {
            outgoing: capabilities.http.outgoing(),
            capabilities,
            caps: Caps::new(limits.memory),
            wasi: wasi.build(),
            wasi_http: WasiHttpCtx::new(),
            table,
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

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.outgoing, table: &mut self.table, ctx: &mut self.wasi_http }
    }
}

/// Caps memory and tables over the whole instance, and remembers that it did: the guest only sees an
/// allocation fail, and its trap says nothing of the reason.
pub(crate) struct Caps {
    /// Bytes of linear memory, all memories together.
    memory_left: usize,
    /// Elements, all tables together.
    elements_left: usize,
    pub(crate) memory_refused: bool,
}

impl Caps {
    fn new(memory: usize) -> Self {
        Self { memory_left: memory, elements_left: MAX_TABLE_ELEMENTS, memory_refused: false }
    }

    /// Bytes of linear memory that the limit still allows.
    pub(crate) fn memory_left(&self) -> usize {
        self.memory_left
    }
}

/// Takes what something grows by out of what is left.
fn take(left: &mut usize, current: usize, desired: usize) -> bool {
    match left.checked_sub(desired.saturating_sub(current)) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

impl ResourceLimiter for Caps {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = take(&mut self.memory_left, current, desired);
        self.memory_refused |= !allowed;
        Ok(allowed)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(take(&mut self.elements_left, current, desired))
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        MAX_TABLES as usize
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_share_one_limit() {
        let mut caps = Caps::new(100);
        assert!(caps.memory_growing(0, 60, None).is_ok_and(|allowed| allowed));
        assert!(caps.memory_growing(0, 60, None).is_ok_and(|allowed| !allowed), "a second memory");
        assert!(caps.memory_growing(60, 100, None).is_ok_and(|allowed| allowed));
        assert!(caps.memory_refused);
    }
}

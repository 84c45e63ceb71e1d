//! Host state of one instance: everything the guest has access to.

use std::sync::Arc;

use gatehouse_core::{
    CallDeadline,
    budget::{ByteBudget, ByteReservation},
    outcome::Fault,
};
use wasmtime::ResourceLimiter;
use wasmtime_wasi::{
    FsPerms, ResourceTable, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView, filesystem::WasiFilesystemCtxView,
};
use wasmtime_wasi_http::WasiHttpCtx;

use crate::{
    capability::{Capabilities, InstanceContext, http::OutgoingHandler},
    engine::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES},
    folders::{self, GuestFolder},
    limits::{HOST_MEMORY, SandboxLimits},
    output::OutputCapture,
    wasi::{
        ResourceLedger,
        files::{FileGuard, GuardedFilesystem},
        http,
    },
};

const MAX_RANDOM: u64 = 64 << 10;

/// Maximum host objects (streams, pollables) that a guest can hold.
pub(crate) const MAX_HANDLES: usize = 1 << 10;

pub(crate) struct State {
    pub(crate) capabilities: Capabilities,
    pub(crate) caps: ResourceCaps,
    /// Host memory held for the guest.
    pub(crate) budget: ByteBudget,
    pub(crate) deadline: CallDeadline,
    /// Clocks, randomness, captured output and the configured folders, nothing else.
    wasi: WasiCtx,
    wasi_http: WasiHttpCtx,
    /// Sends `wasi:http` requests through the capability `http`.
    outgoing: OutgoingHandler,
    table: ResourceTable,
    ledger: ResourceLedger,
    file_guard: FileGuard,
    pub(crate) output: OutputCapture,
}

impl State {
    /// Creates the state. Fails if a folder cannot be opened.
    pub(crate) fn new(
        facts: InstanceContext,
        folders: &[GuestFolder],
        deadline: CallDeadline,
    ) -> Result<Self, Fault> {
        let output = OutputCapture::new(facts.limits.output);
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdout(output.clone()).stderr(output.clone());
        // The host generates random bytes one at a time, and no deadline interrupts that.
        wasi.max_random_size(MAX_RANDOM);
        wasi.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
        for folder in folders {
            let perms = if folder.private { FsPerms::ReadWrite } else { FsPerms::ReadOnly };
            wasi.preopened_dir(&folder.host, &folder.guest, perms)
                .map_err(|error| folders::missing(&facts.gate, folder, &error))?;
        }
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        let caps = ResourceCaps::new(&facts.limits, &facts.memory.guests);
        let budget = facts.memory.host.part(HOST_MEMORY);
        let file_guard = FileGuard {
            gate: Arc::clone(&facts.gate),
            threads: Arc::clone(&facts.threads),
            roots: folders.iter().filter(|folder| folder.private).map(|folder| folder.host.clone()).collect(),
            warned: false,
        };
        let capabilities = Capabilities::new(facts, &budget);
        Ok(Self {
            outgoing: OutgoingHandler { sender: Arc::clone(&capabilities.http), reservation: None },
            capabilities,
            caps,
            deadline,
            wasi: wasi.build(),
            wasi_http: WasiHttpCtx::new(),
            table,
            ledger: ResourceLedger::new(budget.clone()),
            file_guard,
            budget,
            output,
        })
    }

    /// Resets the state for the next call. The guest's memory, its handles and their share of the budget stay.
    pub(crate) fn begin(&mut self, facts: InstanceContext, deadline: CallDeadline) {
        self.capabilities = Capabilities::new(facts, &self.budget);
        self.outgoing.sender = Arc::clone(&self.capabilities.http);
        self.outgoing.reservation = None;
        self.caps.forget_refusals();
        self.deadline = deadline;
        self.output.clear();
    }

    pub(crate) fn files(&mut self) -> GuardedFilesystem<'_> {
        let inner = WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table };
        GuardedFilesystem { inner, guard: &mut self.file_guard, ledger: &mut self.ledger }
    }

    pub(crate) fn guarded_http(&mut self) -> http::GuardedHttp<'_> {
        let (ctx, table) = (&mut self.wasi_http, &mut self.table);
        http::GuardedHttp { ctx, table, outgoing: &mut self.outgoing, ledger: &mut self.ledger }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Limits memory and tables of an instance and records refusals, because the guest's trap does not name the cause.
pub(crate) struct ResourceCaps {
    memory: usize,
    memory_left: usize,
    elements_left: usize,
    /// Share of the memory of all instances.
    shared: ByteReservation,
    pub(crate) memory_refused: bool,
    /// True if other instances use the remaining memory.
    pub(crate) shared_refused: bool,
    pub(crate) elements_refused: bool,
}

impl ResourceCaps {
    fn new(limits: &SandboxLimits, shared: &ByteBudget) -> Self {
        Self {
            memory: limits.memory,
            memory_left: limits.memory,
            elements_left: limits.table_elements,
            shared: shared.reserve(),
            memory_refused: false,
            shared_refused: false,
            elements_refused: false,
        }
    }

    fn forget_refusals(&mut self) {
        self.memory_refused = false;
        self.shared_refused = false;
        self.elements_refused = false;
    }

    pub(crate) fn half_full(&self) -> bool {
        self.memory_left < self.memory / 2
    }

    pub(crate) fn memory_used(&self) -> usize {
        self.memory - self.memory_left
    }
}

/// Subtracts growth from `left`. Returns `false` if too little is left.
fn take(left: &mut usize, current: usize, desired: usize) -> bool {
    match left.checked_sub(desired.saturating_sub(current)) {
        Some(rest) => {
            *left = rest;
            true
        }
        None => false,
    }
}

impl ResourceLimiter for ResourceCaps {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let before = self.memory_left;
        if !take(&mut self.memory_left, current, desired) {
            self.memory_refused = true;
        } else if !self.shared.take(before - self.memory_left) {
            self.memory_left = before;
            self.shared_refused = true;
        } else {
            return Ok(true);
        }
        Ok(false)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = take(&mut self.elements_left, current, desired);
        self.elements_refused |= !allowed;
        Ok(allowed)
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

    fn caps(memory: usize, table_elements: usize) -> ResourceCaps {
        ResourceCaps::new(
            &SandboxLimits { memory, table_elements, ..SandboxLimits::default() },
            &ByteBudget::new(1_000),
        )
    }

    #[test]
    fn memories_share_one_limit() {
        let mut caps = caps(100, 1);
        assert!(caps.memory_growing(0, 50, None).is_ok_and(|allowed| allowed));
        assert!(!caps.half_full());
        assert!(caps.memory_growing(0, 60, None).is_ok_and(|allowed| !allowed), "a second memory");
        assert!(caps.memory_growing(50, 100, None).is_ok_and(|allowed| allowed));
        assert!(caps.memory_refused && caps.half_full());
    }

    #[test]
    fn instances_share_the_available_memory() {
        let (all, limits) = (ByteBudget::new(90), SandboxLimits { memory: 60, ..SandboxLimits::default() });
        let (mut one, mut other) = (ResourceCaps::new(&limits, &all), ResourceCaps::new(&limits, &all));
        assert!(one.memory_growing(0, 60, None).is_ok_and(|allowed| allowed));
        assert!(other.memory_growing(0, 40, None).is_ok_and(|allowed| !allowed));
        assert!(other.shared_refused && !other.memory_refused);
        drop(one);
        assert!(other.memory_growing(0, 60, None).is_ok_and(|allowed| allowed));
    }

    #[test]
    fn refusals_of_one_call_are_not_reported_for_the_next() {
        let limits = SandboxLimits { memory: 60, table_elements: 1, ..SandboxLimits::default() };
        let mut caps = ResourceCaps::new(&limits, &ByteBudget::new(10));
        assert!(caps.memory_growing(0, 50, None).is_ok_and(|allowed| !allowed));
        assert!(caps.memory_growing(0, 70, None).is_ok_and(|allowed| !allowed));
        assert!(caps.table_growing(0, 2, None).is_ok_and(|allowed| !allowed));
        assert!(caps.shared_refused && caps.memory_refused && caps.elements_refused);
        caps.forget_refusals();
        assert!(!caps.shared_refused && !caps.memory_refused && !caps.elements_refused);
    }

    #[test]
    fn tables_share_one_limit() {
        let mut caps = caps(1, 100);
        assert!(caps.table_growing(0, 60, None).is_ok_and(|allowed| allowed));
        assert!(caps.table_growing(0, 60, None).is_ok_and(|allowed| !allowed), "a second table");
        assert!(caps.elements_refused && !caps.memory_refused);
    }
}

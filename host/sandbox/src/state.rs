//! Everything one running gate can reach. Reading this struct is knowing the sandbox.

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
    capture::OutputCapture,
    engine::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLES},
    folders::{self, GuestFolder},
    last_words::last_words,
    limits::{HOST_MEMORY, SandboxLimits},
    wasi::{
        ResourceLedger,
        files::{FileGuard, GuardedFilesystem},
        http,
    },
};

/// The most random bytes a guest may ask for at once.
const MAX_RANDOM: u64 = 64 << 10;

/// Host objects (streams, pollables) that a guest may hold.
pub(crate) const MAX_HANDLES: usize = 1 << 10;

/// The host side of one instance: of one call, or, where instances are reused, of one after the other.
pub(crate) struct State {
    /// The capabilities, each with its grant.
    pub(crate) capabilities: Capabilities,
    /// Memory and tables.
    pub(crate) caps: ResourceCaps,
    /// What the host holds for the guest, of whatever kind.
    pub(crate) budget: ByteBudget,
    /// When the call that runs has to be over.
    pub(crate) deadline: CallDeadline,
    /// Clocks, randomness, captured output, and the folders that presets.toml shows to the gate; no other
    /// file, no variable, no socket.
    wasi: WasiCtx,
    wasi_http: WasiHttpCtx,
    /// Requests by `wasi:http`: through the capability `http`.
    outgoing: OutgoingHandler,
    table: ResourceTable,
    /// What the objects in the table take of the budget.
    ledger: ResourceLedger,
    file_guard: FileGuard,
    /// What the guest wrote to standard error and output.
    output: OutputCapture,
}

impl State {
    /// Faults where one of the folders cannot be opened.
    pub(crate) fn new(
        facts: InstanceContext,
        folders: &[GuestFolder],
        deadline: CallDeadline,
    ) -> Result<Self, Fault> {
        let output = OutputCapture::new(facts.limits.output);
        let mut wasi = WasiCtxBuilder::new();
        wasi.stdout(output.clone()).stderr(output.clone());
        // Made a byte at a time, in one call that no deadline interrupts.
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
            outgoing: capabilities.http.outgoing(),
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

    /// Forgets the former call and takes up this one. What the guest has in its memory stays, and so do its
    /// share of memory, the handles that it holds, and what they take of the budget.
    pub(crate) fn begin(&mut self, facts: InstanceContext, deadline: CallDeadline) {
        self.capabilities = Capabilities::new(facts, &self.budget);
        self.outgoing = self.capabilities.http.outgoing();
        self.caps.memory_refused = false;
        self.caps.elements_refused = false;
        self.deadline = deadline;
        self.output.clear();
    }

    /// `wasi:filesystem`, guarded.
    pub(crate) fn files(&mut self) -> GuardedFilesystem<'_> {
        let inner = WasiFilesystemCtxView { ctx: self.wasi.filesystem(), table: &mut self.table };
        GuardedFilesystem { inner, guard: &mut self.file_guard, ledger: &mut self.ledger }
    }

    /// `wasi:http`, guarded.
    pub(crate) fn guarded_http(&mut self) -> http::GuardedHttp<'_> {
        let (ctx, table) = (&mut self.wasi_http, &mut self.table);
        http::GuardedHttp { ctx, table, outgoing: &mut self.outgoing, ledger: &mut self.ledger }
    }

    /// What the guest wrote at its end, for the message of a trap.
    pub(crate) fn last_words(&self) -> String {
        last_words(&self.output.text())
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// Caps memory and tables over the whole instance, and remembers that it did: the guest only sees an
/// allocation fail, and its trap says nothing of the reason.
pub(crate) struct ResourceCaps {
    memory: usize,
    /// Bytes of linear memory, all memories together.
    memory_left: usize,
    /// Elements, all tables together.
    elements_left: usize,
    /// What this instance takes of the memory that all instances share.
    shared: ByteReservation,
    pub(crate) memory_refused: bool,
    /// True if other instances have the memory.
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

    /// Whether more than half of the memory is taken.
    pub(crate) fn half_full(&self) -> bool {
        self.memory_left < self.memory / 2
    }

    /// Bytes of linear memory that are taken.
    pub(crate) fn memory_used(&self) -> usize {
        self.memory - self.memory_left
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
    fn instances_share_the_memory_that_there_is() {
        let (all, limits) = (ByteBudget::new(90), SandboxLimits { memory: 60, ..SandboxLimits::default() });
        let (mut one, mut other) = (ResourceCaps::new(&limits, &all), ResourceCaps::new(&limits, &all));
        assert!(one.memory_growing(0, 60, None).is_ok_and(|allowed| allowed));
        assert!(other.memory_growing(0, 40, None).is_ok_and(|allowed| !allowed));
        assert!(other.shared_refused && !other.memory_refused);
        drop(one);
        assert!(other.memory_growing(0, 60, None).is_ok_and(|allowed| allowed));
    }

    #[test]
    fn tables_share_one_limit() {
        let mut caps = caps(1, 100);
        assert!(caps.table_growing(0, 60, None).is_ok_and(|allowed| allowed));
        assert!(caps.table_growing(0, 60, None).is_ok_and(|allowed| !allowed), "a second table");
        assert!(caps.elements_refused && !caps.memory_refused);
    }
}

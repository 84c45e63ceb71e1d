//! WASI for gates: wasmtime's implementation with guards. wasmtime limits the number of host objects but not their
//! bytes, and opens any type of file, on shared threads.
//!
//! [`http`] and [`files`] pass most functions through.

pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod threads;
pub(crate) mod tree;

use std::collections::HashMap;

use gatehouse_core::budget::{ByteBudget, ByteReservation};
use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::filesystem;
use wasmtime_wasi_http::p2::bindings::http as wasi_http;

use self::{files::HasGuardedFilesystem, http::HasGuardedHttp};
use crate::state::State;

pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<_, HasGuardedFilesystem>(linker, State::files)?;
    linker.allow_shadowing(false);
    wasi_http::outgoing_handler::add_to_linker::<_, HasGuardedHttp>(linker, State::guarded_http)?;
    let options = wasmtime_wasi_http::p2::bindings::LinkOptions::default();
    wasi_http::types::add_to_linker::<_, HasGuardedHttp>(linker, &(&options).into(), State::guarded_http)
}

#[derive(Debug, thiserror::Error)]
#[error("the host memory budget of this gate is exhausted")]
pub(crate) struct BudgetExceeded;

/// Reserved host memory of a guest's objects, by index in the resource table. Objects that are not listed use next to nothing.
pub(crate) struct ResourceLedger {
    budget: ByteBudget,
    held: HashMap<u32, ByteReservation>,
}

impl ResourceLedger {
    pub(crate) fn new(budget: ByteBudget) -> Self {
        Self { budget, held: HashMap::new() }
    }

    /// Starts a reservation for an object that stores it itself or does not exist yet.
    fn reserve(&self) -> ByteReservation {
        self.budget.reserve()
    }

    fn charge(&mut self, object: u32, bytes: usize) -> Result<(), BudgetExceeded> {
        let held = self.held.entry(object).or_insert_with(|| self.budget.reserve());
        if held.resize(bytes) { Ok(()) } else { Err(BudgetExceeded) }
    }

    fn add(&mut self, object: u32, bytes: usize) -> Result<(), BudgetExceeded> {
        let held = self.held.entry(object).or_insert_with(|| self.budget.reserve());
        if held.take(bytes) { Ok(()) } else { Err(BudgetExceeded) }
    }

    /// Removes an object. Its bytes are freed when the returned reservation is dropped.
    fn release(&mut self, object: u32) -> Option<ByteReservation> {
        self.held.remove(&object)
    }

    fn hand_over(&mut self, from: Option<ByteReservation>, to: u32) {
        if let Some(held) = from {
            self.held.insert(to, held);
        }
    }
}

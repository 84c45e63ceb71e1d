//! WASI for gates: wasmtime's implementation with guards. wasmtime limits the number of host objects but not their
//! bytes, and opens any type of file, on shared threads.
//!
//! [`http`] and [`files`] pass most functions through.

pub(crate) mod files;
pub(crate) mod http;
mod ledger;
mod stream;
pub(crate) mod threads;
pub(crate) mod tree;

use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::filesystem;
use wasmtime_wasi_http::p2::bindings::http as wasi_http;

pub(crate) use ledger::{BudgetExceeded, ResourceLedger};

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

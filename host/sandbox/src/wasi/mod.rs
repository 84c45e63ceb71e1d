//! WASI as gates see it: wasmtime's own implementation, behind guards for what it leaves open. It bounds how many
//! objects a guest has the host keep, but not their bytes; and it opens whatever a path leads to, on threads
//! that everybody shares.
//!
//! [`http`] and [`files`] implement the interfaces by handing each function on, most of them as they are.

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

/// Offers WASI 0.2 and `wasi:http`.
pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_async(linker)?;
    linker.allow_shadowing(true);
    filesystem::types::add_to_linker::<_, HasGuardedFilesystem>(linker, State::files)?;
    linker.allow_shadowing(false);
    wasi_http::outgoing_handler::add_to_linker::<_, HasGuardedHttp>(linker, State::guarded_http)?;
    let options = wasmtime_wasi_http::p2::bindings::LinkOptions::default();
    wasi_http::types::add_to_linker::<_, HasGuardedHttp>(linker, &(&options).into(), State::guarded_http)
}

//! WASI for gates: wasmtime's implementation with guards. wasmtime limits the number of host objects but not their
//! bytes, and opens any type of file, on shared threads. A read from a dead network drive can block past every deadline,
//! so each gate has threads of its own for files.
//!
//! [`http`] and [`files`] pass most functions through.

use std::{
    collections::HashMap,
    future::poll_fn,
    io,
    pin::pin,
    sync::{Arc, OnceLock},
};

use bytes::Bytes;
use gatehouse_core::budget::{ByteBudget, ByteReservation};
use tokio::runtime::{Builder, Handle, Runtime};
use wasmtime::component::Linker;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
    bindings::filesystem,
};
use wasmtime_wasi_http::p2::bindings::http as wasi_http;

use self::{files::HasGuardedFilesystem, http::HasGuardedHttp};
use crate::state::State;

pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod tree;

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

/// Reserved host memory of a guest's objects, by index in the resource table. Objects that are not listed use next to
/// nothing.
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

/// Maximum threads of one gate. They start on demand and end when idle.
const THREADS: usize = 8;

/// Threads of one gate, shared by its versions.
#[derive(Default)]
pub(crate) struct FileThreads {
    /// Only runs blocking work; its own thread is never started.
    runtime: OnceLock<Runtime>,
}

impl FileThreads {
    pub(crate) fn handle(&self) -> io::Result<&Handle> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime.handle());
        }
        let runtime =
            Builder::new_current_thread().max_blocking_threads(THREADS).thread_name("gate-files").build()?;
        if let Err(second) = self.runtime.set(runtime) {
            second.shutdown_background();
        }
        let shutdown_error = || io::Error::other("the file threads have shut down");
        self.runtime.get().map(Runtime::handle).ok_or_else(shutdown_error)
    }

    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        self.handle()?.spawn_blocking(work).await.map_err(io::Error::other)?
    }
}

impl Drop for FileThreads {
    fn drop(&mut self) {
        // Do not wait: a blocked thread may never end.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Polls a future so that blocking work it starts runs on `threads`. Other work is unaffected.
pub(super) async fn within<F: Future>(threads: &Handle, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        let _there = threads.enter();
        future.as_mut().poll(context)
    })
    .await
}

#[derive(Default)]
pub(crate) struct FileThreadPools(std::sync::Mutex<std::collections::HashMap<String, Arc<FileThreads>>>);

impl FileThreadPools {
    pub(crate) fn for_gate(&self, gate: &str) -> Arc<FileThreads> {
        let mut pools = gatehouse_core::lock(&self.0);
        Arc::clone(pools.entry(gate.to_owned()).or_default())
    }
}

/// Maximum bytes per write. wasmtime announces this limit but does not enforce it.
const MAX_PORTION: usize = 64 << 10;

pub(super) struct ThreadedStream<S> {
    stream: S,
    threads: Handle,
    _held: ByteReservation,
}

impl<S> ThreadedStream<S> {
    pub(super) fn new(
        stream: S,
        threads: &Handle,
        mut held: ByteReservation,
    ) -> Result<Self, BudgetExceeded> {
        if !held.take(MAX_PORTION) {
            return Err(BudgetExceeded);
        }
        Ok(Self { stream, threads: threads.clone(), _held: held })
    }
}

#[wasmtime_wasi::async_trait]
impl<S: Pollable> Pollable for ThreadedStream<S> {
    async fn ready(&mut self) {
        within(&self.threads, self.stream.ready()).await;
    }
}

#[wasmtime_wasi::async_trait]
impl InputStream for ThreadedStream<DynInputStream> {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        let _there = self.threads.enter();
        self.stream.read(size)
    }

    async fn blocking_read(&mut self, size: usize) -> StreamResult<Bytes> {
        within(&self.threads, self.stream.blocking_read(size)).await
    }

    async fn cancel(&mut self) {
        within(&self.threads, self.stream.cancel()).await;
    }
}

#[wasmtime_wasi::async_trait]
impl OutputStream for ThreadedStream<DynOutputStream> {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > MAX_PORTION {
            return Err(StreamError::trap("more bytes than `check-write` allows"));
        }
        let _there = self.threads.enter();
        self.stream.write(bytes)
    }

    async fn blocking_write_and_flush(&mut self, bytes: Bytes) -> StreamResult<()> {
        within(&self.threads, self.stream.blocking_write_and_flush(bytes)).await
    }

    fn flush(&mut self) -> StreamResult<()> {
        self.stream.flush()
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(self.stream.check_write()?.min(MAX_PORTION))
    }

    async fn cancel(&mut self) {
        within(&self.threads, self.stream.cancel()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_blocks_takes_the_gates_own_threads() {
        let threads = FileThreads::default();
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let receiver = Arc::new(std::sync::Mutex::new(receiver));
        let handle = threads.handle().expect("a runtime").clone();
        let stuck: Vec<_> = (0..2 * THREADS)
            .map(|_| {
                let receiver = Arc::clone(&receiver);
                handle.spawn_blocking(move || receiver.lock().map(|receiver| receiver.recv()).is_ok())
            })
            .collect();
        let other = FileThreads::default();
        assert_eq!(other.run(|| Ok(1)).await.expect("runs"), 1);
        let elsewhere = within(other.handle().expect("a runtime"), async {
            tokio::task::spawn_blocking(|| std::thread::current().name().map(str::to_owned)).await
        });
        assert_eq!(elsewhere.await.expect("runs").as_deref(), Some("gate-files"));
        drop(sender);
        for task in stuck {
            assert!(task.await.expect("ends"));
        }
    }
}

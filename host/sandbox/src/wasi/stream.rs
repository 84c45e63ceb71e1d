//! File streams that run on the gate's threads and buffer at most one portion.

use bytes::Bytes;
use gatehouse_core::budget::ByteReservation;
use tokio::runtime::Handle;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, Pollable, StreamError, StreamResult,
};

use super::{BudgetExceeded, threads::within};

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

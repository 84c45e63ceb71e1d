//! Captures the end of a guest's output, for the log and the message of a trap. Writes never block or fail; old bytes
//! are dropped.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll},
};

use tokio::io::AsyncWrite;
use wasmtime_wasi::{
    cli::{IsTerminal, StdoutStream},
    p2::{OutputStream, Pollable, StreamResult},
};

use gatehouse_core::lock;

/// The last `limit` bytes of output.
#[derive(Clone)]
pub(crate) struct OutputCapture {
    kept: Arc<Mutex<VecDeque<u8>>>,
    limit: usize,
}

impl OutputCapture {
    pub(crate) fn new(limit: usize) -> Self {
        Self { kept: Arc::default(), limit }
    }

    pub(crate) fn text(&self) -> String {
        let mut kept = lock(&self.kept);
        String::from_utf8_lossy(kept.make_contiguous()).into_owned()
    }

    pub(crate) fn clear(&self) {
        lock(&self.kept).clear();
    }

    fn keep(&self, bytes: &[u8]) {
        let mut kept = lock(&self.kept);
        let bytes = &bytes[bytes.len().saturating_sub(self.limit)..];
        let excess = (kept.len() + bytes.len()).saturating_sub(self.limit);
        kept.drain(..excess);
        kept.extend(bytes);
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for OutputCapture {
    async fn ready(&mut self) {}
}

impl OutputStream for OutputCapture {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(64 << 10)
    }
}

impl AsyncWrite for OutputCapture {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.keep(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl IsTerminal for OutputCapture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for OutputCapture {
    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }

    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bytes_are_kept() {
        let capture = OutputCapture::new(8);
        capture.keep(b"hello ");
        capture.keep(b"world");
        assert_eq!(capture.text(), "lo world");
        capture.keep(&[b'x'; 100]);
        assert_eq!(capture.text(), "xxxxxxxx");
    }
}

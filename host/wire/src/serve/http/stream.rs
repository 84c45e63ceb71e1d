//! A TCP stream that reports activity to its connection, and lingers on close so that the last response arrives.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::Sleep,
};

use super::connection::HttpConnection;

/// Time and bytes to keep reading from a client that is still sending. Closing earlier would reset the connection, and
/// the client might not see the response.
const MAX_LINGER: Duration = Duration::from_secs(1);
const MAX_LINGER_BYTES: usize = 8 << 20;

pub(super) struct WatchedStream {
    stream: TcpStream,
    connection: Arc<HttpConnection>,
    lingering: Option<LingeringClose>,
}

struct LingeringClose {
    left: usize,
    end: Pin<Box<Sleep>>,
}

impl WatchedStream {
    pub(super) fn new(stream: TcpStream, connection: Arc<HttpConnection>) -> Self {
        // Nagle's algorithm would delay small replies by 40 ms.
        let _ = stream.set_nodelay(true);
        Self { stream, connection, lingering: None }
    }

    fn record_write(&self, polled: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &polled {
            Poll::Pending => self.connection.record_stall(),
            Poll::Ready(Ok(bytes)) => self.connection.record_written(*bytes),
            Poll::Ready(Err(_)) => {}
        }
        polled
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            self.connection.record_read();
        }
        if polled.is_pending() {
            self.connection.record_empty_read();
        }
        polled
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.record_write(polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.record_write(polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.connection.record_flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.lingering.is_none() {
            ready!(Pin::new(&mut this.stream).poll_shutdown(cx))?;
        }
        let lingering = this.lingering.get_or_insert_with(|| LingeringClose {
            left: MAX_LINGER_BYTES,
            end: Box::pin(tokio::time::sleep(MAX_LINGER)),
        });
        if lingering.end.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        let mut dropped = [0; 16 << 10];
        while lingering.left > 0 {
            let mut buffer = ReadBuf::new(&mut dropped);
            // End of input or an error: the client has closed its side.
            let read = ready!(Pin::new(&mut this.stream).poll_read(cx, &mut buffer));
            if read.is_err() || buffer.filled().is_empty() {
                break;
            }
            lingering.left = lingering.left.saturating_sub(buffer.filled().len());
        }
        Poll::Ready(Ok(()))
    }
}

//! Accepts connections and serves each in its own task. Their streams report activity, and linger on close.

use std::{
    convert::Infallible,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use gatehouse_core::LogLimit;
use http::{Request, Response, StatusCode};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::Sleep,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connection::HttpConnection,
    connections::{ConnectionGuard, OpenConnections},
    reply::{ResponseBody, record_error},
};

const MAX_BUFFER: usize = 64 << 10;

const MAX_HEADER_BYTES: usize = 32 << 10;

/// Delay after a failed accept, for example without free file descriptors.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Response if calls run on all connections.
const BUSY_RESPONSE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n";

/// Answers the requests of a listener.
pub(super) trait Respond: Send + Sync + 'static {
    fn respond(
        self: Arc<Self>,
        connection: Arc<HttpConnection>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<ResponseBody>> + Send;
}

pub(super) struct HttpListener<R> {
    pub(super) connections: Arc<OpenConnections>,
    pub(super) router: Arc<R>,
    pub(super) tasks: TaskTracker,
    /// Cancelled to finish current requests and accept no more.
    pub(super) stop: CancellationToken,
    /// Cancelled to stop immediately.
    pub(super) end: CancellationToken,
}

impl<R> Clone for HttpListener<R> {
    fn clone(&self) -> Self {
        Self {
            connections: Arc::clone(&self.connections),
            router: Arc::clone(&self.router),
            tasks: self.tasks.clone(),
            stop: self.stop.clone(),
            end: self.end.clone(),
        }
    }
}

impl<R: Respond> HttpListener<R> {
    pub(super) async fn accept(&self, listener: &TcpListener) -> Infallible {
        let limit = LogLimit::new();
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => {
                    let Some(entry) = self.connections.admit(peer) else {
                        if let Some(left_out) = limit.admit_line() {
                            tracing::warn!(%peer, left_out, "connection refused: calls are running on all connections");
                        }
                        record_error(StatusCode::SERVICE_UNAVAILABLE);
                        // Best effort: the socket buffer normally has room.
                        let _ = stream.try_write(BUSY_RESPONSE);
                        continue;
                    };
                    let this = self.clone();
                    self.tasks.spawn(async move { this.drive(stream, entry).await });
                }
                // The client disconnected before accept.
                Err(error) if is_connection_lost(&error) => {}
                // Out of descriptors or memory. Closing a connection can help; an immediate retry does not.
                Err(error) => {
                    let closed = self.connections.make_room();
                    if let Some(left_out) = limit.admit_line() {
                        tracing::error!(%error, closed, left_out, "cannot accept a connection");
                    }
                    tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                }
            }
        }
    }

    async fn drive(&self, stream: TcpStream, entry: ConnectionGuard) {
        let connection = Arc::clone(&entry.connection);
        let io = TokioIo::new(WatchedStream::new(stream, Arc::clone(&connection)));
        let service = service_fn(|request| {
            let (router, connection) = (Arc::clone(&self.router), Arc::clone(&connection));
            async move { Ok::<_, Infallible>(router.respond(connection, request).await) }
        });
        let mut builder = http1::Builder::new();
        // No timer, because the connection table enforces timeouts.
        builder.max_buf_size(MAX_BUFFER).max_header_size(MAX_HEADER_BYTES);
        let mut driven = pin!(builder.serve_connection(io, service));
        let ended = tokio::select! {
            biased;
            () = connection.closing.cancelled() => return,
            ended = driven.as_mut() => ended,
            () = self.stop.cancelled() => {
                driven.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = driven.as_mut() => ended,
                    () = connection.closing.cancelled() => return,
                    () = self.end.cancelled() => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::debug!(peer = %connection.peer, %error, "connection ended");
        }
    }
}

fn is_connection_lost(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Time and bytes to keep reading from a client that is still sending. Closing earlier would reset the connection, and
/// the client might not see the response.
const MAX_LINGER: Duration = Duration::from_secs(1);
const MAX_LINGER_BYTES: usize = 8 << 20;

/// A TCP stream that reports activity to its connection, and lingers on close so that the last response arrives.
struct WatchedStream {
    stream: TcpStream,
    connection: Arc<HttpConnection>,
    lingering: Option<LingeringClose>,
}

struct LingeringClose {
    left: usize,
    end: Pin<Box<Sleep>>,
}

impl WatchedStream {
    fn new(stream: TcpStream, connection: Arc<HttpConnection>) -> Self {
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
            // Nothing is sent any more, so the place is free for another.
            this.connection.record_flushed();
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

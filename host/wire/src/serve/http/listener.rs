//! Accepts connections and serves each in its own task.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use gatehouse_core::LogLimit;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    connections::{ConnectionGuard, OpenConnections},
    router::Router,
    stream::WatchedStream,
};

const MAX_BUFFER: usize = 64 << 10;

const MAX_HEADER_BYTES: usize = 32 << 10;

/// Delay after a failed accept, for example without free file descriptors.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// Response if calls run on all connections.
const BUSY_RESPONSE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n";

#[derive(Clone)]
pub(super) struct HttpListener {
    pub(super) connections: Arc<OpenConnections>,
    pub(super) router: Arc<Router>,
    pub(super) tasks: TaskTracker,
    /// Cancelled to finish current requests and accept no more.
    pub(super) stop: CancellationToken,
    /// Cancelled to stop immediately.
    pub(super) end: CancellationToken,
}

impl HttpListener {
    pub(super) async fn accept(&self, listener: &TcpListener) -> Infallible {
        let limit = LogLimit::new();
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => self.serve_connection(stream, peer, &limit).await,
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

    async fn serve_connection(&self, stream: TcpStream, peer: SocketAddr, limit: &LogLimit) {
        match self.connections.admit(peer).await {
            Some(entry) => {
                let this = self.clone();
                self.tasks.spawn(async move { this.drive(stream, entry).await });
            }
            None => {
                if let Some(left_out) = limit.admit_line() {
                    tracing::warn!(%peer, left_out, "connection refused: calls are running on all connections");
                }
                // Best effort: the socket buffer normally has room.
                let _ = stream.try_write(BUSY_RESPONSE);
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
            ended = driven.as_mut() => ended,
            () = connection.closing.cancelled() => return,
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

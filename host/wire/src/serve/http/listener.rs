//! Takes connections in and drives them, each in a task of its own.

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

/// Bytes of a connection that are kept to be read or to be written, beside the body in hand.
const MAX_BUFFER: usize = 64 << 10;

/// Bytes of a request's headers.
const MAX_HEADER_BYTES: usize = 32 << 10;

/// How long to wait where the system has no descriptor for a new connection.
const ACCEPT_RETRY_PAUSE: Duration = Duration::from_millis(50);

/// What a client gets that comes while calls run on every connection there may be.
const BUSY_RESPONSE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nretry-after: 1\r\nconnection: close\r\n\r\n";

pub(super) struct HttpListener {
    pub(super) connections: Arc<OpenConnections>,
    pub(super) router: Arc<Router>,
    pub(super) tasks: TaskTracker,
    /// Cancelled when the host is to end: requests in hand are answered, and no further ones.
    pub(super) stop: CancellationToken,
    /// Cancelled when it ends now.
    pub(super) end: CancellationToken,
}

impl HttpListener {
    /// Takes connections in, for as long as this is polled.
    pub(super) async fn accept(&self, listener: &TcpListener) -> Infallible {
        let limit = LogLimit::new();
        loop {
            match listener.accept().await {
                Ok((stream, peer)) => self.serve_connection(stream, peer, &limit).await,
                // The client gave up before it was taken in.
                Err(error) if is_connection_lost(&error) => {}
                // No descriptor or no memory: one connection less may help, and asking again at once does not.
                Err(error) => {
                    let closed = self.connections.make_room();
                    if let Some(left_out) = limit.admit_line() {
                        tracing::error!(%error, closed, left_out, "a connection could not be taken in");
                    }
                    tokio::time::sleep(ACCEPT_RETRY_PAUSE).await;
                }
            }
        }
    }

    async fn serve_connection(&self, stream: TcpStream, peer: SocketAddr, limit: &LogLimit) {
        match self.connections.admit(peer).await {
            Some(entry) => {
                let (router, stop, end) = (Arc::clone(&self.router), self.stop.clone(), self.end.clone());
                self.tasks.spawn(drive(stream, entry, router, stop, end));
            }
            None => {
                if let Some(left_out) = limit.admit_line() {
                    tracing::warn!(%peer, left_out, "connection refused: calls run on all there may be");
                }
                // It has room for these bytes, or the client is told nothing.
                let _ = stream.try_write(BUSY_RESPONSE);
            }
        }
    }
}

fn is_connection_lost(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

async fn drive(
    stream: TcpStream,
    entry: ConnectionGuard,
    router: Arc<Router>,
    stop: CancellationToken,
    end: CancellationToken,
) {
    let connection = Arc::clone(&entry.connection);
    let io = TokioIo::new(WatchedStream::new(stream, Arc::clone(&connection)));
    let service = service_fn(|request| {
        let (router, connection) = (Arc::clone(&router), Arc::clone(&connection));
        async move { Ok::<_, Infallible>(router.respond(connection, request).await) }
    });
    let mut builder = http1::Builder::new();
    // Times are kept by the list of connections, so there is no timer here.
    builder.max_buf_size(MAX_BUFFER).max_header_size(MAX_HEADER_BYTES);
    let mut driven = pin!(builder.serve_connection(io, service));
    let ended = tokio::select! {
        ended = driven.as_mut() => ended,
        () = connection.closing() => return,
        () = stop.cancelled() => {
            driven.as_mut().graceful_shutdown();
            tokio::select! {
                ended = driven.as_mut() => ended,
                () = connection.closing() => return,
                () = end.cancelled() => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(peer = %connection.peer, %error, "connection ended");
    }
}

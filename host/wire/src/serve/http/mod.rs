//! Serving over streamable HTTP: `/mcp` is the default preset, `/mcp/p/<preset>` each one by name. Below both are a few
//! [`endpoints`] for programs that speak no MCP.
//!
//! ```text
//! listener → connections → stream → router → guard → body → service
//! ```
//!
//! A stranger costs a connection and its headers, for seconds: [`guard`] knows by the headers who may come
//! in, and [`connections`] makes room for those at the cost of those who are not known.

mod body;
mod connection;
mod connections;
mod endpoints;
mod eviction;
mod guard;
mod host_names;
mod large_requests;
mod listener;
mod page;
mod reply;
mod router;
mod service;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use std::{net::SocketAddr, sync::Arc};

use tokio::{net::TcpListener, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{MAX_LAST_CALLS, ServedPresets, auth::BearerToken, shutdown::Drain, workers::Workers};
use body::BodyReader;
use connections::OpenConnections;
use guard::RequestGuard;
pub use host_names::{HostName, WebOrigin};
use large_requests::LargeRequests;
use listener::HttpListener;
use router::Router;
use service::PresetServices;
pub use settings::{HttpSettings, MAX_CONNECTIONS, SettingError};

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Beyond loopback without a token.
    #[error(
        "refusing to listen on {0} without a token: everybody who can reach that address could call every tool"
    )]
    NeedsToken(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {cause}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// Why not.
        cause: std::io::Error,
    },
}

/// A server that listens and has not started to answer.
pub struct BoundServer {
    listener: TcpListener,
    /// Where it listens; the port is the real one where 0 was asked for.
    pub address: SocketAddr,
    token: Option<BearerToken>,
}

/// Binds the address, deny by default.
pub async fn bind(address: SocketAddr, token: Option<BearerToken>) -> Result<BoundServer, HttpError> {
    if !address.ip().is_loopback() && token.is_none() {
        return Err(HttpError::NeedsToken(address));
    }
    let failed = |cause| HttpError::Bind { address, cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(BoundServer { listener, address, token })
}

impl BoundServer {
    /// Answers until `stop` is cancelled; requests that run then have the time of `drain` to end.
    pub async fn serve(self, presets: Arc<ServedPresets>, settings: HttpSettings, stop: CancellationToken) {
        let Self { listener, address, token } = self;
        let (end, workers) = (CancellationToken::new(), Workers::default());
        let (shutdown, drain) = (Arc::clone(&presets.shutdown), Drain::new(settings.drain));
        let router = Router {
            guard: RequestGuard::new(address, &settings, token),
            bodies: BodyReader::new(settings.body_timeout, settings.memory),
            services: PresetServices::new(Arc::clone(&presets), &end),
            stop: stop.clone(),
            large: LargeRequests { workers: workers.clone() },
            presets,
        };
        let connections = OpenConnections::new(settings);
        let tasks = TaskTracker::new();
        let taking = HttpListener {
            connections: Arc::clone(&connections),
            router: Arc::new(router),
            tasks: tasks.clone(),
            stop: shutdown.refusing(),
            end: end.clone(),
        };
        let over = async {
            stop.cancelled().await;
            shutdown.announce(drain);
            let _ = timeout(drain.open, shutdown.wait_until_idle()).await;
        };
        tokio::select! {
            never = taking.accept(&listener) => match never {},
            () = connections.close_expired() => {}
            () = over => {}
        }
        drop(listener);
        shutdown.refuse();
        connections.close_idle();
        tasks.close();
        // Calls of sessions whose clients broke off run on no connection.
        let answered = async || {
            tasks.wait().await;
            shutdown.wait_until_idle().await;
        };
        let drained = tokio::select! {
            drained = timeout(drain.closed, answered()) => drained.is_ok(),
            () = connections.close_expired() => false,
        };
        if !drained {
            shutdown.abort();
            let _ = timeout(MAX_LAST_CALLS, answered()).await;
        }
        end.cancel();
        workers.end().await;
    }
}

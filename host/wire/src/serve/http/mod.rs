//! Streamable HTTP server: `/mcp` is the default preset, `/mcp/p/<preset>` each one by name. Below both are some
//! [`endpoints`] for programs that do not use MCP.
//!
//! ```text
//! listener → connections → router → guard → body → mcp
//! ```
//!
//! An unauthenticated client costs only a connection and its headers, for seconds: [`guard`] decides from the headers,
//! and [`connections`] evicts unauthenticated clients first.

mod active_request;
mod admin;
mod auth;
mod body;
mod client_address;
mod connection;
mod connections;
mod direct_requests;
mod door_audit;
mod endpoints;
mod guard;
mod held_response;
mod listener;
mod mcp;
mod page;
mod pages;
mod reply;
mod router;
mod settings;
mod sign_in;
#[cfg(test)]
mod tests;

use std::{net::SocketAddr, sync::Arc};

use gatehouse_core::ports::{AuditLog, readiness::ReadinessCheck};
use gatehouse_telemetry::metrics;
use tokio::{net::TcpListener, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::login::Logins;

use super::{MAX_LAST_CALLS, SealKeys, ServedPresets, shutdown::Drain, workers::Workers};
pub use admin::{AdminServer, bind_admin};
pub use auth::{BearerToken, BearerTokenError, Credentials};
use body::BodyReader;
pub(crate) use client_address::ClientAddress;
use connections::OpenConnections;
use door_audit::DoorAudit;
use guard::RequestGuard;
use listener::HttpListener;
use mcp::PresetServices;
pub use pages::{PageHandler, PageServer, bind_pages};
use router::Router;
pub use settings::{HostName, HttpSettings, MAX_CONNECTIONS, SettingError, WebOrigin, parse_proxy};

#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Listening beyond loopback requires a token.
    #[error(
        "refusing to listen on {0} without a token: anyone who can reach that address could call every tool"
    )]
    NeedsToken(SocketAddr),
    /// Listening for operators beyond loopback requires people.
    #[error("refusing to listen for operators on {0} without [auth]: anyone could read the metrics")]
    NeedsAuth(SocketAddr),
    /// Pages are for the user of this machine.
    #[error("refusing to show pages on {0}: it is no loopback address")]
    NotLoopback(SocketAddr),
    #[error("cannot listen on {address}: {cause}")]
    Bind { address: SocketAddr, cause: std::io::Error },
}

/// A bound server that has not started to answer.
pub struct BoundServer {
    listener: TcpListener,
    /// Local address, with the actual port if 0 was requested.
    pub address: SocketAddr,
    credentials: Credentials,
    logins: Option<Arc<Logins>>,
    audit: DoorAudit,
}

/// Binds the address. Beyond loopback, clients need credentials.
pub async fn bind(address: SocketAddr, credentials: Credentials) -> Result<BoundServer, HttpError> {
    if !address.ip().is_loopback() && !credentials.are_required() {
        return Err(HttpError::NeedsToken(address));
    }
    let failed = |cause| HttpError::Bind { address, cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(BoundServer { listener, address, credentials, logins: None, audit: DoorAudit::default() })
}

impl BoundServer {
    /// Serves the pages on which principals sign in to servers.
    #[must_use]
    pub fn with_sign_ins(self, logins: Arc<Logins>) -> Self {
        Self { logins: Some(logins), ..self }
    }

    /// Records refused requests and sign-ins. `None` if the audit is off.
    #[must_use]
    pub fn with_audit(self, log: Option<Arc<dyn AuditLog>>) -> Self {
        Self { audit: DoorAudit::new(log), ..self }
    }

    /// Serves until `stop` is cancelled. Running requests then have `settings.drain` to finish.
    pub async fn serve(
        self,
        presets: Arc<ServedPresets>,
        settings: HttpSettings,
        seal: SealKeys,
        readiness: Arc<dyn ReadinessCheck>,
        stop: CancellationToken,
    ) {
        let Self { listener, address, credentials, logins, audit } = self;
        let (end, workers) = (CancellationToken::new(), Workers::default());
        let (shutdown, drain) = (Arc::clone(&presets.shutdown), Drain::new(settings.drain));
        let base = logins.as_ref().and_then(|logins| logins.sign_ins().base());
        let router = Router {
            guard: RequestGuard::new(address, &settings, credentials, base),
            bodies: BodyReader::new(settings.body_timeout, settings.memory),
            services: PresetServices::new(Arc::clone(&presets), Arc::new(seal), &end),
            readiness,
            logins,
            audit,
            stop: stop.clone(),
            workers: workers.clone(),
            presets,
        };
        let max = i64::try_from(settings.connections).unwrap_or(i64::MAX);
        let connections = OpenConnections::new(settings);
        if let Some(metrics) = metrics() {
            let open = Arc::downgrade(&connections);
            metrics.on_scrape(move |metrics| {
                let open = open.upgrade().map_or(0, |connections| connections.len());
                metrics.connections.series([]).set(i64::try_from(open).unwrap_or(i64::MAX));
                metrics.max_connections.series([]).set(max);
            });
        }
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
        // Calls of disconnected sessions have no connection.
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

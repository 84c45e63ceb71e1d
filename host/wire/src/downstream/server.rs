//! One MCP server as a [`gatehouse_core::Source`]. Concurrent callers share one attempt to connect. A circuit breaker
//! blocks attempts while the server fails, and an idle connection is closed.

mod background_listing;
mod caller_servers;
mod connecting;
mod connection_use;
mod listing;
mod omitted_items;
mod policies;
mod reconnecting;
mod skill_files;
mod source;
mod stored_start;

use std::{
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{
    SourceId,
    http::Redactor,
    lock,
    ports::{
        Clock, ToolIndex,
        client::ClientFeatures,
        servers::{RefreshReport, ServerDefinition, ServerState, ServerStatus},
    },
    source::Listing,
};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, watch},
    task::JoinHandle,
    time::Instant,
};

use super::{
    breaker::ServerBreaker,
    connection::{Connector, ServerConnection},
    peer::InboundLimits,
    uri_mapper::UriMapper,
};
use crate::{
    ConnectedClients,
    login::{LoginId, Logins},
};
pub(super) use background_listing::AfterListing;
use background_listing::{FirstListing, RelistState};
use caller_servers::CallerServers;
use connecting::ConnectTask;
use connection_use::{MAX_ISOLATED_CONNECTIONS, shutdown_fault};
use listing::ListFailure;

/// State shared by all servers of a host.
pub(super) struct ServerContext {
    pub(super) connector: Arc<dyn Connector>,
    pub(super) logins: Arc<Logins>,
    pub(super) index: Arc<dyn ToolIndex>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) connection_timeout: Option<Duration>,
    pub(super) retries: u32,
    pub(super) changes: watch::Sender<u64>,
    pub(super) connected_clients: Arc<ConnectedClients>,
    /// Index generation whose tools clients were shown. `None` if they are shown none.
    pub(super) shown_generation: Mutex<Option<i64>>,
    /// Runtime of the connections. A call may run on other threads, which must not keep a connection.
    pub(super) runtime: Option<Handle>,
}

impl ServerContext {
    /// Spawns a task on the runtime of the connections.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match &self.runtime {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        }
    }
}

pub(super) struct DownstreamServer {
    pub(super) definition: ServerDefinition,
    pub(super) place: AtomicUsize,
    id: SourceId,
    shared: Arc<ServerContext>,
    inner: Mutex<Inner>,
    connecting: Mutex<Option<ConnectTask>>,
    relisting: Mutex<RelistState>,
    /// Held from listing to storing, so that an older listing is not stored last. Shared by the connections of all
    /// principals.
    listing_lock: Arc<tokio::sync::Mutex<()>>,
    limits: InboundLimits,
    uris: UriMapper,
    /// Its last listing, as stored and as clients see it.
    described: Mutex<Option<(Arc<Listing>, Arc<Listing>)>>,
    login: LoginId,
    /// Connections of principals, if each has its own login.
    callers: CallerServers,
    /// Held while the caller is asked to sign in.
    asking: tokio::sync::Mutex<()>,
    isolated_slots: Semaphore,
    this: Weak<Self>,
}

struct Inner {
    state: ServerState,
    breaker: ServerBreaker,
    connection: Option<Arc<dyn ServerConnection>>,
    connected_at: Option<u64>,
    /// Declaration of the connection to the server.
    declared: ClientFeatures,
    /// True if a client has used the connection, so that the server may keep state for it.
    used: bool,
    last_error: Option<String>,
    last_used: Instant,
    in_flight: u32,
    first_report: RefreshReport,
    /// Time of the last change in the listing, as of the last look at the index.
    last_change: Option<u64>,
    /// True if the server reported changed lists before the connection was ready.
    stale: bool,
    /// True if the last listing has incomplete lists.
    listed_in_part: bool,
    first_listing: Option<FirstListing>,
    /// True if a call used the connection or waits for it.
    needed: bool,
    /// True if the server was listed for a call that has not arrived yet.
    call_may_follow: bool,
    /// True once the server is removed, redefined or shut down. Older catalogs may still use this handle.
    closed: bool,
}

impl DownstreamServer {
    pub(super) fn new(definition: ServerDefinition, shared: Arc<ServerContext>) -> Arc<Self> {
        let login = LoginId::shared(&definition.name);
        Self::with_login(definition, shared, login, Arc::default())
    }

    fn with_login(
        definition: ServerDefinition,
        shared: Arc<ServerContext>,
        login: LoginId,
        listing_lock: Arc<tokio::sync::Mutex<()>>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            id: SourceId::Server(Arc::clone(&definition.name)),
            limits: InboundLimits::new(Arc::new(Redactor::new(&definition.secrets).with_short_secrets())),
            uris: UriMapper::new(&definition.name),
            definition,
            place: AtomicUsize::default(),
            shared,
            inner: Mutex::new(Inner {
                state: ServerState::Configured,
                breaker: ServerBreaker::default(),
                connection: None,
                connected_at: None,
                declared: ClientFeatures::default(),
                used: false,
                last_error: None,
                last_used: Instant::now(),
                in_flight: 0,
                first_report: RefreshReport::default(),
                last_change: None,
                stale: false,
                listed_in_part: false,
                first_listing: None,
                needed: false,
                call_may_follow: false,
                closed: false,
            }),
            connecting: Mutex::default(),
            relisting: Mutex::default(),
            listing_lock,
            described: Mutex::default(),
            login,
            callers: CallerServers::default(),
            asking: tokio::sync::Mutex::default(),
            isolated_slots: Semaphore::new(MAX_ISOLATED_CONNECTIONS),
            this: Weak::clone(this),
        })
    }

    pub(super) fn status(&self) -> ServerStatus {
        let (of_callers, inner) = (self.callers.state(), lock(&self.inner));
        let (circuit, recovery) = inner.breaker.status(Instant::now());
        ServerStatus {
            name: Arc::clone(&self.definition.name),
            place: self.place.load(Ordering::Relaxed),
            transport: self.definition.transport.as_str(),
            tags: self.definition.tags.clone(),
            state: of_callers.filter(|_| inner.connection.is_none()).unwrap_or(inner.state),
            circuit,
            recovery_in_ms: recovery.map(|time| time.as_millis() as u64),
            connected_at: inner.connected_at,
            last_error: inner.last_error.clone(),
            last_schema_change: inner.last_change,
            log: self.limits.log.lines(),
        }
    }

    fn connected(&self) -> Option<Arc<dyn ServerConnection>> {
        lock(&self.inner).connection.clone()
    }

    /// Detaches the connection. Returns `false` if another connection is current, or if a call runs on one that is only
    /// idle.
    fn detach_connection(
        &self,
        connection: &Arc<dyn ServerConnection>,
        state: ServerState,
        reason: Option<String>,
    ) -> bool {
        let mut inner = lock(&self.inner);
        let is_current = inner.connection.as_ref().is_some_and(|current| Arc::ptr_eq(current, connection));
        if !is_current || (state == ServerState::Dormant && inner.in_flight > 0) {
            return false;
        }
        inner.connection = None;
        inner.connected_at = None;
        inner.state = state;
        inner.last_error =
            reason.map(|reason| self.limits.redactor.redact_text(reason)).or(inner.last_error.take());
        true
    }

    pub(super) async fn close(&self) {
        if let Some(connecting) = lock(&self.connecting).take() {
            connecting.task.abort();
        }
        let connection = {
            let mut inner = lock(&self.inner);
            inner.closed = true;
            inner.state = ServerState::Configured;
            inner.connected_at = None;
            inner.first_listing = None;
            inner.connection.take()
        };
        let closing = async {
            if let Some(connection) = connection {
                connection.close().await;
            }
        };
        tokio::join!(closing, self.callers.close());
    }

    fn close_connection(&self, connection: &Arc<dyn ServerConnection>, reason: String) {
        if self.detach_connection(connection, ServerState::Failed, Some(reason)) {
            let connection = Arc::clone(connection);
            // Over HTTP, other requests may still be answered.
            tokio::spawn(async move { connection.close_after_requests().await });
        }
    }
}

#[cfg(test)]
mod tests;

//! Connecting to a server, and the effect of attempts on its circuit breaker. All callers share one attempt, which runs
//! to its own limit even if its callers stop waiting.

use std::{
    cell::Cell,
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use gatehouse_core::{
    Fault, lock,
    ports::{
        client::ClientFeatures,
        servers::{CircuitState, RefreshReport, ServerState, ServerTransport},
    },
};
use gatehouse_net::Backoff;
use tokio::{task::AbortHandle, time::Instant};

use super::{DownstreamServer, ListFailure, shutdown_fault};
use crate::downstream::{
    breaker::CircuitRejection,
    connection::{ConnectFailure, ConnectionContext, ListChanged, ServerConnection},
};

const RETRY: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(16) };

/// Maximum time of an attempt to connect over HTTP.
const HTTP_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum time of an attempt to start a program, which may have to download the server first.
const PROGRAM_TIMEOUT: Duration = Duration::from_secs(120);

const fn default_timeout(transport: &ServerTransport) -> Duration {
    match transport {
        ServerTransport::Stdio { .. } => PROGRAM_TIMEOUT,
        ServerTransport::Http { .. } | ServerTransport::Sse { .. } => HTTP_TIMEOUT,
    }
}

/// Task that connects. It outlives the callers that wait for it.
pub(super) struct ConnectTask {
    outcome: Shared<BoxFuture<'static, Result<Arc<dyn ServerConnection>, Fault>>>,
    pub(super) task: AbortHandle,
}

/// Attempt to connect. Dropping it without a result leaves the breaker undecided.
pub(super) struct ConnectAttempt<'a> {
    server: &'a DownstreamServer,
    /// True if it is for the shared connection, which sets the state of the server.
    shared: bool,
    decided: Cell<bool>,
}

impl<'a> ConnectAttempt<'a> {
    pub(super) fn begin(server: &'a DownstreamServer, shared: bool) -> Result<Self, Fault> {
        let mut inner = lock(&server.inner);
        if inner.closed {
            return Err(server.closed_fault());
        }
        inner.breaker.admit(Instant::now()).map_err(|rejected| {
            let name = &server.definition.name;
            let last = inner
                .last_error
                .as_deref()
                .map(|reason| format!(" Last error: {reason}"))
                .unwrap_or_default();
            let next = match rejected {
                CircuitRejection::Open(left) => format!("next attempt in {:.1} s", left.as_secs_f64()),
                CircuitRejection::Probing => "another call is trying to connect".to_owned(),
            };
            Fault::unavailable(format!("circuit breaker open for '{name}'; {next}.{last}"))
        })?;
        if shared {
            inner.state = ServerState::Connecting;
            inner.stale = false;
        }
        Ok(Self { server, shared, decided: Cell::new(false) })
    }

    /// Records success. Returns whether the server has reported changed lists since. `None` if it was closed in the
    /// meantime.
    pub(super) fn succeeded(
        &self,
        connection: &Arc<dyn ServerConnection>,
        report: RefreshReport,
    ) -> Option<bool> {
        self.decided.set(true);
        let mut inner = lock(&self.server.inner);
        if inner.closed {
            return None;
        }
        inner.breaker.record_success();
        inner.state = ServerState::Connected;
        inner.connection = Some(Arc::clone(connection));
        inner.connected_at = Some(self.server.shared.clock.now_ms());
        inner.last_used = Instant::now();
        inner.used = false;
        inner.last_error = None;
        inner.first_report = report;
        Some(std::mem::take(&mut inner.stale))
    }

    pub(super) fn succeeded_isolated(&self) {
        self.decided.set(true);
        lock(&self.server.inner).breaker.record_success();
    }

    /// Records a failure. Returns `true` if the circuit is now open.
    pub(super) fn failed(&self, failure: &ConnectFailure) -> bool {
        self.decided.set(true);
        let mut inner = lock(&self.server.inner);
        inner.breaker.connection_failed(Instant::now(), failure.refused);
        if self.shared {
            inner.state = ServerState::Failed;
        }
        inner.last_error = Some(failure.message.clone());
        inner.breaker.status(Instant::now()).0 == CircuitState::Open
    }
}

impl Drop for ConnectAttempt<'_> {
    fn drop(&mut self) {
        if !self.decided.get() {
            let mut inner = lock(&self.server.inner);
            inner.breaker.probe_abandoned();
            if self.shared {
                inner.state = ServerState::Configured;
            }
        }
    }
}

impl DownstreamServer {
    pub(in crate::downstream) async fn connection(&self) -> Result<Arc<dyn ServerConnection>, Fault> {
        if let Some(connection) = self.connected() {
            return Ok(connection);
        }
        let outcome = {
            let mut connecting = lock(&self.connecting);
            match connecting.as_ref().filter(|running| !running.task.is_finished()) {
                Some(running) => running.outcome.clone(),
                None => {
                    let this = self.this.upgrade().ok_or_else(shutdown_fault)?;
                    let connecting_task = self.shared.spawn(this.connect());
                    let task = connecting_task.abort_handle();
                    let ended = connecting_task.map(|ended| ended.unwrap_or_else(|_| Err(shutdown_fault())));
                    let outcome = ended.boxed().shared();
                    *connecting = Some(ConnectTask { outcome: outcome.clone(), task });
                    outcome
                }
            }
        };
        outcome.await
    }

    /// Returns a connection for the request of a client, which declares what clients have now unless it was used before.
    pub(super) async fn connection_for_request(&self) -> Result<Arc<dyn ServerConnection>, Fault> {
        if let Some(outdated) = self.take_outdated(None) {
            // Two processes of one server may exclude each other.
            outdated.close().await;
        }
        let connection = self.connection().await?;
        lock(&self.inner).used = true;
        Ok(connection)
    }

    /// Detaches a connection that does not declare what clients have now, unless a client has used it: the server may keep
    /// state for it. With `idle`, only that connection, and only if nothing runs on it.
    pub(super) fn take_outdated(
        &self,
        idle: Option<&Arc<dyn ServerConnection>>,
    ) -> Option<Arc<dyn ServerConnection>> {
        let mut inner = lock(&self.inner);
        let current = inner.connection.as_ref()?;
        let is_meant = match idle {
            Some(idle) => Arc::ptr_eq(idle, current) && inner.in_flight == 0,
            // The caller itself counts.
            None => inner.in_flight <= 1,
        };
        let required_features = inner.declared.union(self.shared.connected_clients.declared());
        let is_outdated = !inner.used && required_features != inner.declared;
        if is_meant && is_outdated { inner.connection.take() } else { None }
    }

    /// Returns what to declare to the server: the features of the clients so far, and those with which it was listed,
    /// because its listing must not change with the client that connects it.
    async fn features_to_declare(&self) -> ClientFeatures {
        let features = self.shared.connected_clients.declared();
        let server_listing = self.known().await.ok().flatten();
        server_listing.map_or(features, |server_listing| features.union(server_listing.listing.features))
    }

    async fn connect(self: Arc<Self>) -> Result<Arc<dyn ServerConnection>, Fault> {
        if let Some(connection) = self.connected() {
            return Ok(connection);
        }
        let attempt = ConnectAttempt::begin(&self, true)?;
        let mut failures = 0;
        loop {
            match self.try_once().await {
                Ok((connection, report)) => {
                    let Some(stale) = attempt.succeeded(&connection, report) else {
                        connection.close().await;
                        return Err(self.closed_fault());
                    };
                    self.watch_connection(&connection);
                    if stale {
                        self.lists_changed();
                    }
                    return Ok(connection);
                }
                Err(failure) => {
                    failures += 1;
                    let open = attempt.failed(&failure);
                    if failure.permanent || open || failures > self.shared.retries {
                        return Err(self.unreachable(&failure.message));
                    }
                }
            }
            tokio::time::sleep(RETRY.pause(failures)).await;
        }
    }

    /// Connects and lists the tools, so that every connection has a known listing.
    async fn try_once(&self) -> Result<(Arc<dyn ServerConnection>, RefreshReport), ConnectFailure> {
        let weak = Weak::clone(&self.this);
        let changed: ListChanged = Arc::new(move || {
            if let Some(server) = weak.upgrade() {
                server.lists_changed();
            }
        });
        let limit = self.connection_timeout();
        let context = self.connection_context(Some(changed)).await;
        lock(&self.inner).declared = context.declared;
        let connected = async {
            let connection = self.connect_and_remember(context, limit).await?;
            if self.uses_known_listing().await {
                return Ok((connection, RefreshReport::default()));
            }
            match self.list_and_store(&connection, false).await {
                Ok(report) => Ok((connection, report)),
                Err(ListFailure::Index(fault)) => {
                    tracing::warn!(source = %self.id, "cannot store the listing: {}", fault.in_one_line());
                    Ok((connection, RefreshReport::default()))
                }
                Err(failure) => {
                    connection.close().await;
                    Err(ConnectFailure::transient(failure.in_one_line()))
                }
            }
        };
        connected.await.map_err(|failure| ConnectFailure {
            message: self.limits.redactor.redact_text(failure.message),
            ..failure
        })
    }

    pub(super) async fn connection_context(&self, changed: Option<ListChanged>) -> ConnectionContext {
        ConnectionContext {
            login: self.login.clone(),
            changed,
            limits: self.limits.clone(),
            clients: Arc::clone(&self.shared.connected_clients),
            declared: self.features_to_declare().await,
            start: self.known_start().await,
        }
    }

    pub(super) fn connection_timeout(&self) -> Duration {
        let configured = self.definition.connection_timeout.or(self.shared.connection_timeout);
        configured.unwrap_or_else(|| default_timeout(&self.definition.transport))
    }
}

//! An attempt to connect a server, and what its end means for the next one.

use std::{cell::Cell, sync::Arc};

use gatehouse_core::{
    Fault, lock,
    ports::servers::{CircuitState, RefreshReport, ServerState},
};
use tokio::time::Instant;

use super::DownstreamServer;
use crate::downstream::connection::{ConnectFailure, ServerConnection};

/// An attempt to connect; one that is given up decides nothing.
pub(super) struct ConnectAttempt<'a> {
    server: &'a DownstreamServer,
    /// Whether it is for the connection that all share, and so tells how the server does.
    shared: bool,
    decided: Cell<bool>,
}

impl<'a> ConnectAttempt<'a> {
    pub(super) fn begin(server: &'a DownstreamServer, shared: bool) -> Result<Self, Fault> {
        let mut inner = lock(&server.inner);
        if inner.closed {
            return Err(server.closed_fault());
        }
        inner.breaker.admit(Instant::now()).map_err(|left| {
            let name = &server.definition.name;
            let last = inner
                .last_error
                .as_deref()
                .map(|why| format!(" It failed last with: {why}."))
                .unwrap_or_default();
            let seconds = left.as_secs_f64();
            Fault::unavailable(format!(
                "Circuit breaker open for '{name}'. Recovery attempt in {seconds:.1}s.{last}"
            ))
        })?;
        if shared {
            inner.state = ServerState::Connecting;
            inner.stale = false;
        }
        Ok(Self { server, shared, decided: Cell::new(false) })
    }

    /// Whether what was found is not what the server lists by now. `None` if the server was closed meanwhile.
    pub(super) fn succeeded(
        &self,
        connection: &Arc<dyn ServerConnection>,
        found: RefreshReport,
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
        inner.last_error = None;
        inner.found = found;
        Some(std::mem::take(&mut inner.stale))
    }

    /// One for a single call.
    pub(super) fn succeeded_isolated(&self) {
        self.decided.set(true);
        lock(&self.server.inner).breaker.record_success();
    }

    /// Whether the circuit is open now.
    pub(super) fn failed(&self, failure: &ConnectFailure) -> bool {
        self.decided.set(true);
        let mut inner = lock(&self.server.inner);
        inner.breaker.connection_failed(Instant::now());
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

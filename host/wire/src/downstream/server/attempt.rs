//! An attempt to connect to a server, and its effect on the circuit breaker.

use std::{cell::Cell, sync::Arc};

use gatehouse_core::{
    Fault, lock,
    ports::servers::{CircuitState, RefreshReport, ServerState},
};
use tokio::time::Instant;

use super::DownstreamServer;
use crate::downstream::connection::{ConnectFailure, ServerConnection};

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
        inner.breaker.admit(Instant::now()).map_err(|left| {
            let name = &server.definition.name;
            let last =
                inner.last_error.as_deref().map(|why| format!(" Last error: {why}")).unwrap_or_default();
            let seconds = left.as_secs_f64();
            Fault::unavailable(format!(
                "circuit breaker open for '{name}'; next attempt in {seconds:.1} s.{last}"
            ))
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

    pub(super) fn succeeded_isolated(&self) {
        self.decided.set(true);
        lock(&self.server.inner).breaker.record_success();
    }

    /// Records a failure. Returns `true` if the circuit is now open.
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

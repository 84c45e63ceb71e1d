//! Use of a connection: it does not count as idle, and is replaced if the server has ended its session.

use std::sync::{Arc, atomic::Ordering};

use gatehouse_core::{CallContext, Fault, lock, ports::servers::ServerState};
use tokio::time::Instant;

use super::DownstreamServer;
use crate::downstream::connection::{CallFailure, ServerConnection};

/// Maximum number of new connections for one request, if the server ends each session.
const MAX_SESSION_RENEWALS: u32 = 3;

/// Marks the server as in use, so that it does not count as idle, until it is dropped.
pub(super) struct InFlightGuard<'a>(&'a DownstreamServer);

impl<'a> InFlightGuard<'a> {
    pub(super) fn begin(server: &'a DownstreamServer) -> Self {
        lock(&server.inner).in_flight += 1;
        Self(server)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        let mut inner = lock(&self.0.inner);
        inner.in_flight -= 1;
        inner.last_used = Instant::now();
    }
}

impl DownstreamServer {
    /// Sends the first request of a call, again on a new connection if the server has ended the session. Also returns the
    /// connection.
    pub(super) async fn request_in_session<T, F>(
        &self,
        call: &CallContext,
        send: impl Fn(Arc<dyn ServerConnection>) -> F,
    ) -> Result<(Arc<dyn ServerConnection>, Result<T, CallFailure>), Fault>
    where
        F: Future<Output = Result<T, CallFailure>>,
    {
        let mut renewals = 0;
        loop {
            let began = Instant::now();
            let connected = self.connection_for_request().await;
            record_connecting(call, began);
            let connection = connected?;
            let answer = send(Arc::clone(&connection)).await;
            let was_not_run = matches!(answer, Err(CallFailure::SessionEnded { has_begun: false }));
            if !was_not_run || renewals == MAX_SESSION_RENEWALS {
                return Ok((connection, answer));
            }
            renewals += 1;
            self.retire(&connection);
        }
    }

    /// Detaches a connection whose session has ended. Requests that wait for their answers can finish.
    pub(super) fn retire(&self, connection: &Arc<dyn ServerConnection>) {
        if self.detach_connection(connection, ServerState::Configured, None) {
            let connection = Arc::clone(connection);
            tokio::spawn(async move { connection.close_after_requests().await });
        }
    }
}

/// Adds the time since `began` to the call's time of connecting.
pub(super) fn record_connecting(call: &CallContext, began: Instant) {
    let connecting = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    call.connecting_us.fetch_add(connecting, Ordering::Relaxed);
}

//! Use of connections: requests in flight, connections that idle or end, a connection for a single call, and the faults
//! of calls that reach no server.

use std::{
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};

use gatehouse_core::{CallContext, Fault, lock, ports::servers::ServerState};
use tokio::{sync::SemaphorePermit, time::Instant};

use super::{DownstreamServer, ListFailure, connecting::ConnectAttempt};
use crate::{
    OnDrop,
    downstream::connection::{CallFailure, ConnectFailure, ConnectionEnd, ServerConnection},
};

/// Maximum repetitions of one request, if the server ends each session before it runs the request.
const MAX_REPEATS: u32 = 3;

impl DownstreamServer {
    /// Marks the server as in use, so that it does not count as idle, until the guard is dropped.
    pub(super) fn begin_use(&self) -> OnDrop<impl FnOnce()> {
        lock(&self.inner).in_flight += 1;
        OnDrop::new(|| {
            let mut inner = lock(&self.inner);
            inner.in_flight -= 1;
            inner.last_used = Instant::now();
        })
    }

    /// Sends the first request of a call, again on a new connection if the server has ended the session or cannot be
    /// reached. Also returns the connection.
    pub(super) async fn request_in_session<T, F>(
        &self,
        call: &CallContext,
        send: impl Fn(Arc<dyn ServerConnection>) -> F,
    ) -> Result<(Arc<dyn ServerConnection>, Result<T, CallFailure>), Fault>
    where
        F: Future<Output = Result<T, CallFailure>>,
    {
        let mut repeats = 0;
        loop {
            let began = Instant::now();
            let connected = self.connection_for_request().await;
            record_connecting(call, began);
            let connection = connected?;
            let answer = send(Arc::clone(&connection)).await;
            let was_not_run = matches!(
                answer,
                Err(CallFailure::SessionEnded { has_begun: false } | CallFailure::NotSent(_))
            );
            if !was_not_run || repeats == MAX_REPEATS {
                return Ok((connection, answer));
            }
            repeats += 1;
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
    let elapsed = began.elapsed();
    call.trace.add_wait("connection", elapsed);
    let connecting = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    call.connecting_us.fetch_add(connecting, Ordering::Relaxed);
}

impl DownstreamServer {
    /// Closes the connection when it ends or idles too long.
    pub(super) fn watch_connection(&self, connection: &Arc<dyn ServerConnection>) {
        let (weak, connection) = (Weak::clone(&self.this), Arc::clone(connection));
        let idle = self.definition.idle_timeout;
        let mut declarations = self.shared.connected_clients.declarations();
        tokio::spawn(async move {
            let mut outdated = None;
            loop {
                let Some(server) = weak.upgrade() else { break };
                if server.take_outdated(Some(&connection)).is_some() {
                    outdated = Some(server);
                    break;
                }
                let rest = server.remaining_idle_time(idle);
                drop(server);
                let idle_time_over = async {
                    match rest {
                        Some(rest) => tokio::time::sleep(rest).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    end = connection.ended() => {
                        if let Some(server) = weak.upgrade() {
                            server.record_connection_end(&connection, end);
                        }
                        break;
                    }
                    () = idle_time_over => {}
                    Ok(()) = declarations.changed() => continue,
                }
                let Some(server) = weak.upgrade() else { break };
                let is_idle = server.remaining_idle_time(idle) == Some(Duration::ZERO);
                if !server.connected().is_some_and(|current| Arc::ptr_eq(&current, &connection)) {
                    // It is closed by the code that detached it, which may be when its last request ends.
                    return;
                }
                if is_idle && server.detach_connection(&connection, ServerState::Dormant, None) {
                    break;
                }
            }
            connection.close().await;
            if let Some(server) = outdated {
                // Its tools may depend on what is declared. A failure is part of its status.
                let _ = server.connection().await;
            }
        });
    }

    /// Returns the time until the connection counts as idle. `None` if it never does.
    pub(super) fn remaining_idle_time(&self, idle: Option<Duration>) -> Option<Duration> {
        let inner = lock(&self.inner);
        let idle = idle?;
        let used = inner.in_flight > 0 || inner.connection.as_ref().is_some_and(|c| c.is_followed());
        Some(if used { idle } else { idle.saturating_sub(inner.last_used.elapsed()) })
    }

    pub(super) fn record_connection_end(&self, connection: &Arc<dyn ServerConnection>, end: ConnectionEnd) {
        if end.is_abuse {
            tracing::warn!(source = %self.id, "disconnecting the server: {}", self.limits.redactor.redact_text(end.reason.clone()));
            lock(&self.inner).breaker.open(Instant::now());
        }
        self.detach_connection(connection, ServerState::Failed, Some(end.reason));
    }
}

/// Isolated connections to one server at a time; further calls wait.
pub(super) const MAX_ISOLATED_CONNECTIONS: usize = 4;

/// Maximum time that a result waits for the server to end.
const MAX_END_WAIT: Duration = Duration::from_secs(1);

pub(super) struct IsolatedConnection<'a> {
    pub(super) connection: Arc<dyn ServerConnection>,
    ended: bool,
    _slot: SemaphorePermit<'a>,
}

impl DownstreamServer {
    pub(super) async fn connect_isolated(&self) -> Result<IsolatedConnection<'_>, Fault> {
        let slot = self.isolated_slots.acquire().await.map_err(|_| shutdown_fault())?;
        let attempt = ConnectAttempt::begin(self, false)?;
        // Only the shared connection follows changed lists.
        let context = self.connection_context(None).await;
        let limit = self.connection_timeout();
        match self.connect_and_remember(context, limit).await {
            Ok(connection) => {
                attempt.succeeded_isolated();
                Ok(IsolatedConnection { connection, ended: false, _slot: slot })
            }
            Err(failure) => {
                let message = self.limits.redactor.redact_text(failure.message);
                attempt.failed(&ConnectFailure { message: message.clone(), ..failure });
                Err(self.unreachable(&message))
            }
        }
    }

    /// Lists the tools over an isolated connection unless they are known.
    pub(in crate::downstream) async fn list_isolated(&self) -> Result<(), Fault> {
        if self.known().await?.is_some() {
            return Ok(());
        }
        let isolated = self.connect_isolated().await?;
        let listed = self.list_and_store(&isolated.connection, false).await;
        isolated.end().await;
        listed.map(drop).map_err(|failure| match failure {
            ListFailure::Index(fault) => fault,
            failure => self.unreachable(&failure.in_one_line()),
        })
    }
}

impl IsolatedConnection<'_> {
    pub(super) async fn end(mut self) {
        let _ = tokio::time::timeout(MAX_END_WAIT, self.close()).await;
    }

    fn close(&mut self) -> tokio::task::JoinHandle<()> {
        self.ended = true;
        let connection = Arc::clone(&self.connection);
        tokio::spawn(async move { connection.close().await })
    }
}

impl Drop for IsolatedConnection<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.close();
        }
    }
}

impl DownstreamServer {
    pub(super) fn closed_fault(&self) -> Fault {
        let name = &self.definition.name;
        Fault::unavailable(format!("server '{name}' was removed or redefined"))
            .hint("List the tools again, then repeat the call.")
    }

    pub(super) fn unreachable(&self, reason: &str) -> Fault {
        let (name, reason) = (&self.definition.name, self.limits.redactor.redact_text(reason.to_owned()));
        Fault::unavailable(format!("cannot reach server '{name}': {reason}"))
            .hint(format!("Run `gatehouse servers status` to see its state; [servers.{name}] defines it."))
    }
}

pub(super) fn shutdown_fault() -> Fault {
    Fault::unavailable("the host is shutting down")
}

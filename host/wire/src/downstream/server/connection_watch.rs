//! Watching a connection: it is closed when it ends, idles too long, or no longer declares what clients have.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use gatehouse_core::{lock, ports::servers::ServerState};
use tokio::time::Instant;

use super::DownstreamServer;
use crate::downstream::connection::{ConnectionEnd, ServerConnection};

impl DownstreamServer {
    /// Closes the connection when it ends or idles too long.
    pub(super) fn watch_connection(&self, connection: &Arc<dyn ServerConnection>) {
        let (weak, connection) = (Weak::clone(&self.this), Arc::clone(connection));
        let idle = self.definition.idle_timeout;
        let mut declarations = self.shared.client_features.declarations();
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
            tracing::warn!(source = %self.id, "disconnecting the server: {}", self.redactor.redact_text(end.why.clone()));
            lock(&self.inner).breaker.open(Instant::now());
        }
        self.detach_connection(connection, ServerState::Failed, Some(end.why));
    }
}

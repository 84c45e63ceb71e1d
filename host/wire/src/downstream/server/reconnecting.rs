//! Connecting again because a person asks for it.

use gatehouse_core::{Fault, lock, ports::servers::ServerState};

use super::DownstreamServer;
use crate::downstream::DownstreamServers;

impl DownstreamServers {
    /// Ends the connection to a server, closes its circuit breaker, and connects again.
    ///
    /// # Errors
    ///
    /// `not-found` for an unknown server, and the fault of the connection.
    pub async fn reconnect(&self, server: &str) -> Result<(), Fault> {
        let server = self.server(server)?;
        server.disconnect().await;
        server.connection().await.map(drop)
    }
}

impl DownstreamServer {
    /// Ends the shared connection, and forgets earlier failures.
    async fn disconnect(&self) {
        let connection = {
            let mut inner = lock(&self.inner);
            inner.breaker.record_success();
            inner.state = ServerState::Configured;
            inner.connected_at = None;
            inner.connection.take()
        };
        if let Some(connection) = connection {
            connection.close().await;
        }
    }
}

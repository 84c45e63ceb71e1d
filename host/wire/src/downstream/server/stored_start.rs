//! How a server was last connected, stored next to its listing. Servers that know only the handshake, or only the oldest
//! HTTP transport, cost a wait or a refused request once, and not at each start.

use std::{sync::Arc, time::Duration};

use base64::Engine as _;
use gatehouse_core::ports::servers::ServerTransport;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::DownstreamServer;
use crate::{
    downstream::connection::{ConnectFailure, ConnectionContext, ConnectionStart, ServerConnection},
    serve::BASE64,
};

#[derive(Serialize, Deserialize)]
struct StoredStart {
    /// Digest of the definition that it is for.
    definition: String,
    start: ConnectionStart,
}

impl DownstreamServer {
    /// Returns how to begin a connection: as the last one, if the definition is the same.
    pub(super) async fn known_start(&self) -> ConnectionStart {
        let stored = self.shared.index.connection_start(&self.definition.name).await.ok().flatten();
        let stored = stored.and_then(|stored| serde_json::from_str::<StoredStart>(&stored).ok());
        let stored =
            stored.filter(|stored| stored.definition == definition_digest(&self.definition.transport));
        stored.map(|stored| stored.start).unwrap_or_default()
    }

    /// Makes one attempt to connect, and stores how it began. After a failure, the next attempt begins as the first.
    pub(super) async fn connect_and_remember(
        &self,
        context: ConnectionContext,
        limit: Duration,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure> {
        let before = context.start;
        let connected = self.shared.connector.connect(&self.definition, context, limit).await;
        let now =
            connected.as_ref().map_or_else(|_| ConnectionStart::default(), |connection| connection.start());
        // A server that is down says nothing about its lifecycle.
        let is_known = connected.as_ref().err().is_none_or(|failure| !failure.refused);
        if now != before && is_known {
            self.store_start(now).await;
        }
        connected
    }

    /// Forgets how the server was connected.
    pub(super) async fn forget_start(&self) {
        self.store_start(ConnectionStart::default()).await;
    }

    async fn store_start(&self, start: ConnectionStart) {
        let definition = definition_digest(&self.definition.transport);
        let stored = (start != ConnectionStart::default()).then_some(StoredStart { definition, start });
        let stored = stored.and_then(|stored| serde_json::to_string(&stored).ok());
        if let Err(fault) = self.shared.index.set_connection_start(&self.definition.name, stored).await {
            tracing::warn!(source = %self.id, "cannot store how it was connected: {}", fault.in_one_line());
        }
    }
}

/// Returns a digest of what decides which program or address a definition means, without its secrets.
fn definition_digest(transport: &ServerTransport) -> String {
    let text = match transport {
        ServerTransport::Stdio { command, args, cwd, .. } => format!("{command}\n{args:?}\n{cwd:?}"),
        ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. } => {
            format!("{}\n{url}", transport.as_str())
        }
    };
    BASE64.encode(Sha256::digest(text))
}

//! A connection for a single call, with a server process of its own that ends with the call. The shared connection is
//! untouched; the circuit breaker is shared.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{Fault, lock};
use tokio::sync::SemaphorePermit;

use super::{DownstreamServer, ListFailure, connecting::ConnectAttempt, shutdown_fault};
use crate::downstream::connection::{ConnectFailure, ConnectionContext, ServerConnection};

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
        let context = ConnectionContext {
            login: self.login.clone(),
            changed: None,
            limits: self.limits.clone(),
            clients: Arc::clone(&self.shared.client_features),
            declared: self.features_to_declare().await,
            is_legacy: lock(&self.inner).is_legacy,
        };
        let limit = self.connection_timeout();
        let connected = self.shared.connector.connect(&self.definition, context, limit).await;
        match connected {
            Ok(connection) => {
                attempt.succeeded_isolated();
                lock(&self.inner).is_legacy = connection.is_legacy();
                Ok(IsolatedConnection { connection, ended: false, _slot: slot })
            }
            Err(failure) => {
                let message = self.redactor.redact_text(failure.message);
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

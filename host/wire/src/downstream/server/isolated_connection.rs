//! A connection for one call: the server is started for it and ended with it, whatever becomes of it. The one that all share
//! is not touched, and the circuit breaker is the same.

use std::{sync::Arc, time::Duration};

use gatehouse_core::Fault;
use tokio::sync::SemaphorePermit;

use super::{ConnectAttempt, DownstreamServer, LearnFailure};
use crate::downstream::connection::{ConnectFailure, ListChanged, ServerConnection};

/// Connections of this kind to one server at a time; further calls wait for one of them to end.
pub(super) const MAX_ISOLATED_CONNECTIONS: usize = 4;

/// How long the answer to a call may wait for its server to end.
const MAX_END_WAIT: Duration = Duration::from_secs(1);

/// Such a connection. Dropping it ends it, too.
pub(super) struct IsolatedConnection<'a> {
    pub(super) connection: Arc<dyn ServerConnection>,
    ended: bool,
    _place: SemaphorePermit<'a>,
}

impl DownstreamServer {
    /// Connects for one call.
    pub(super) async fn connect_isolated(&self) -> Result<IsolatedConnection<'_>, Fault> {
        let place = self.apart.acquire().await;
        let place = place.map_err(|_| Fault::unavailable("The host is ending."))?;
        let attempt = ConnectAttempt::begin(self, false)?;
        // What it lists by now is for the connection that stays.
        let nobody: ListChanged = Arc::new(|| {});
        let limit = self.connection_timeout();
        let connected = self.shared.connector.connect(&self.definition, self.intake(nobody), limit).await;
        match connected {
            Ok(connection) => {
                attempt.succeeded_isolated();
                Ok(IsolatedConnection { connection, ended: false, _place: place })
            }
            Err(failure) => {
                let message = self.redactor.redact_text(failure.message);
                attempt.failed(&ConnectFailure { message: message.clone(), ..failure });
                Err(self.unreachable(&message))
            }
        }
    }

    /// Has it say what it lists where that is not known, and ends it again.
    pub(in crate::downstream) async fn learn_isolated(&self) -> Result<(), Fault> {
        if self.known().await?.is_some() {
            return Ok(());
        }
        let apart = self.connect_isolated().await?;
        let learned = self.learn(&apart.connection, false).await;
        apart.end().await;
        learned.map(drop).map_err(|failure| match failure {
            LearnFailure::Server(why) => self.unreachable(&why),
            LearnFailure::Index(fault) => fault,
        })
    }
}

impl IsolatedConnection<'_> {
    /// Ends it, and waits a moment for the server to be gone.
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

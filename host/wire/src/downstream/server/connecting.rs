//! Connecting to a server. All callers share one attempt, which runs to its own limit even if its callers stop waiting.

use std::{
    path::Path,
    sync::{Arc, Weak},
    time::Duration,
};

use gatehouse_core::{
    Fault, lock,
    ports::servers::{RefreshReport, ServerTransport},
};
use tokio::{sync::watch, task::AbortHandle};

use super::{ConnectAttempt, DownstreamServer, LearnFailure};
use crate::downstream::connection::{ConnectFailure, ListChanged, ServerConnection};

/// Wait before the first retry. It doubles up to [`MAX_RETRY_WAIT`].
const MIN_RETRY_WAIT: Duration = Duration::from_secs(1);
const MAX_RETRY_WAIT: Duration = Duration::from_secs(16);

const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);

/// Default timeout for programs that may have to download the server first.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(120);

const DOWNLOADERS: [&str; 10] =
    ["npx", "npm", "pnpm", "yarn", "bunx", "uvx", "uv", "pipx", "docker", "podman"];

fn default_timeout(transport: &ServerTransport) -> Duration {
    let ServerTransport::Stdio { command, .. } = transport else { return CONNECTION_TIMEOUT };
    let program = Path::new(command).file_stem().unwrap_or_default();
    if DOWNLOADERS.iter().any(|name| program == *name) { DOWNLOAD_TIMEOUT } else { CONNECTION_TIMEOUT }
}

type ConnectOutcome = Option<Result<Arc<dyn ServerConnection>, Fault>>;

/// Task that connects. It outlives the callers that wait for it.
pub(super) struct ConnectTask {
    pub(super) outcome: watch::Receiver<ConnectOutcome>,
    pub(super) task: AbortHandle,
}

impl DownstreamServer {
    pub(in crate::downstream) async fn connection(&self) -> Result<Arc<dyn ServerConnection>, Fault> {
        let ending = || Fault::unavailable("the host is shutting down");
        if let Some(connection) = self.connected() {
            return Ok(connection);
        }
        let mut outcome = {
            let mut connecting = lock(&self.connecting);
            match connecting.as_ref().filter(|running| !running.task.is_finished()) {
                Some(running) => running.outcome.clone(),
                None => {
                    let own = self.own.upgrade().ok_or_else(ending)?;
                    let (sender, outcome) = watch::channel(None);
                    let task = tokio::spawn(async move {
                        let connected = own.connect().await;
                        sender.send_replace(Some(connected));
                    });
                    let task = task.abort_handle();
                    *connecting = Some(ConnectTask { outcome: outcome.clone(), task });
                    outcome
                }
            }
        };
        let connected = outcome.wait_for(Option::is_some).await.map_err(|_| ending())?;
        connected.clone().unwrap_or_else(|| Err(ending()))
    }

    async fn connect(self: Arc<Self>) -> Result<Arc<dyn ServerConnection>, Fault> {
        if let Some(connection) = self.connected() {
            return Ok(connection);
        }
        let attempt = ConnectAttempt::begin(&self, true)?;
        let mut wait = MIN_RETRY_WAIT;
        let mut left = self.shared.retries;
        loop {
            match self.try_once().await {
                Ok((connection, found)) => {
                    let Some(stale) = attempt.succeeded(&connection, found) else {
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
                    let open = attempt.failed(&failure);
                    if failure.permanent || open || left == 0 {
                        return Err(self.unreachable(&failure.message));
                    }
                    left -= 1;
                }
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(MAX_RETRY_WAIT);
        }
    }

    /// Connects and lists the tools, so that every connection has a known listing.
    async fn try_once(&self) -> Result<(Arc<dyn ServerConnection>, RefreshReport), ConnectFailure> {
        let weak = Weak::clone(&self.own);
        let changed: ListChanged = Arc::new(move || {
            if let Some(server) = weak.upgrade() {
                server.lists_changed();
            }
        });
        let limit = self.connection_timeout();
        let connecting = self.shared.connector.connect(&self.definition, self.intake(changed), limit);
        let connected = async {
            let connection = connecting.await?;
            let learned = tokio::time::timeout(limit, self.learn(&connection, false)).await;
            match learned.unwrap_or_else(|_| Err(ConnectFailure::timed_out(limit).message.into())) {
                Ok(found) => Ok((connection, found)),
                Err(LearnFailure::Index(fault)) => {
                    tracing::warn!(source = %self.id, "cannot store the listing: {}", fault.in_one_line());
                    Ok((connection, RefreshReport::default()))
                }
                Err(LearnFailure::Server(why)) => {
                    connection.close().await;
                    Err(ConnectFailure::transient(why))
                }
            }
        };
        connected.await.map_err(|failure| ConnectFailure {
            message: self.redactor.redact_text(failure.message),
            ..failure
        })
    }

    pub(super) fn connection_timeout(&self) -> Duration {
        let configured = self.definition.connection_timeout.or(self.shared.connection_timeout);
        configured.unwrap_or_else(|| default_timeout(&self.definition.transport))
    }
}

//! Connections to server processes.

use std::time::Duration;

use gatehouse_core::ports::servers::{ServerDefinition, ServerTransport};
use rmcp::service::serve_client_with_lifecycle;
use tokio::time::{sleep_until, timeout};

use super::{AttemptDeadline, AttemptError, HostClient, Lifecycle, RealConnector, ServerSession, is_answer};
use crate::downstream::{
    connection::{ConnectFailure, ConnectionContext},
    inbound::InboundReader,
    pipe_transport::PipeTransport,
    process::ServerProcess,
};

/// Maximum wait for the exit of a process after its output closes.
const MAX_EXIT_WAIT: Duration = Duration::from_millis(500);

impl RealConnector {
    pub(super) async fn over_pipes(
        &self,
        server: &ServerDefinition,
        intake: &ConnectionContext,
        era: Lifecycle,
        limit: AttemptDeadline,
    ) -> Result<ServerSession, AttemptError> {
        let redactor = intake.limits.redactor();
        let (process, output, input) = ServerProcess::start(
            &self.program,
            &server.transport,
            &self.base,
            &self.inherited.passed,
            redactor,
        )
        .map_err(AttemptError::Failed)?;
        let inbound = InboundReader::new(&intake.limits);
        let transport = PipeTransport::new(output, input, &inbound);
        let client = HostClient::new(&server.name, inbound);
        let transport = client.wrap_transport(transport, &intake.changed);
        let ended = |how| ConnectFailure::transient(format!("it exited during startup ({how})"));
        let failed = tokio::select! {
            begun = serve_client_with_lifecycle(client, transport, era.mode()) => match begun {
                Ok(running) => return Ok(ServerSession::new(running, Some(process))),
                Err(error) if is_answer(&error) => era.classify_failure(&error),
                // A process that exits closes its output a moment earlier.
                Err(error) => match timeout(MAX_EXIT_WAIT, process.ended()).await {
                    Ok(how) => AttemptError::Failed(ended(how)),
                    Err(_) => era.classify_failure(&error),
                },
            },
            how = process.ended() => AttemptError::Failed(ended(how)),
            () = sleep_until(limit.until) => AttemptError::Failed(ConnectFailure::timed_out(limit.length)),
        };
        let failed = self.explain_failure(failed, server, &process);
        tokio::spawn(async move { process.end().await });
        Err(failed)
    }

    /// Adds standard error and the withheld environment variables.
    fn explain_failure(
        &self,
        failed: AttemptError,
        server: &ServerDefinition,
        process: &ServerProcess,
    ) -> AttemptError {
        let said = process.error_summary().map(|said| format!("; stderr: {said}")).unwrap_or_default();
        let withheld = match &server.transport {
            ServerTransport::Stdio { env, .. } => self.inherited.withheld_from(&server.name, env),
            ServerTransport::Http { .. } | ServerTransport::Sse { .. } => None,
        };
        let withheld = withheld.map(|withheld| format!("; {withheld}")).unwrap_or_default();
        let explain = |failure: ConnectFailure| {
            let message = format!("{}{said}{withheld}", failure.message);
            ConnectFailure { message, ..failure }
        };
        match failed {
            AttemptError::TryOtherLifecycle(failure) => AttemptError::TryOtherLifecycle(explain(failure)),
            AttemptError::Failed(failure) => AttemptError::Failed(explain(failure)),
        }
    }
}

//! Connections to programs that the host starts.

use std::time::Duration;

use gatehouse_core::ports::servers::{ServerDefinition, ServerTransport};
use rmcp::service::serve_client_with_lifecycle;
use tokio::time::{sleep_until, timeout};

use super::{Attempt, Client, Era, Limit, RealConnector, Session, is_answer};
use crate::downstream::{
    connection::{ConnectFailure, Intake},
    inbound::Inbound,
    pipes::Pipes,
    process::Process,
};

/// How long it may take to know that a program has ended once its output is closed.
const LAST_WORDS: Duration = Duration::from_millis(500);

impl RealConnector {
    pub(super) async fn over_pipes(
        &self,
        server: &ServerDefinition,
        intake: &Intake,
        era: Era,
        limit: Limit,
    ) -> Result<Session, Attempt> {
        let redactor = intake.limits.redactor();
        let (process, output, input) =
            Process::start(&self.program, &server.transport, &self.base, &self.inherited.passed, redactor)
                .map_err(Attempt::Failed)?;
        let inbound = Inbound::new(&intake.limits);
        let transport = Pipes::new(output, input, &inbound);
        let client = Client::new(&server.name, inbound);
        let transport = client.over(transport, &intake.changed);
        let ended = |how| ConnectFailure::passing(format!("it ended while it was starting ({how})"));
        let failed = tokio::select! {
            begun = serve_client_with_lifecycle(client, transport, era.mode()) => match begun {
                Ok(running) => return Ok(Session::new(running, Some(process))),
                Err(error) if is_answer(&error) => era.failed(&error),
                // A program that ends closes its output a moment before.
                Err(error) => match timeout(LAST_WORDS, process.ended()).await {
                    Ok(how) => Attempt::Failed(ended(how)),
                    Err(_) => era.failed(&error),
                },
            },
            how = process.ended() => Attempt::Failed(ended(how)),
            () = sleep_until(limit.until) => Attempt::Failed(ConnectFailure::late(limit.length)),
        };
        let failed = self.explained(failed, server, &process);
        tokio::spawn(async move { process.end().await });
        Err(failed)
    }

    /// Adds what the program wrote to its standard error, and which variables it did not get.
    fn explained(&self, failed: Attempt, server: &ServerDefinition, process: &Process) -> Attempt {
        let said = process.complaint().map(|said| format!("; it said: {said}")).unwrap_or_default();
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
            Attempt::OtherEra(failure) => Attempt::OtherEra(explain(failure)),
            Attempt::Failed(failure) => Attempt::Failed(explain(failure)),
        }
    }
}

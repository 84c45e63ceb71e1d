//! Calls over a connection of their own, and advice on when to use them.

use std::time::Duration;

use gatehouse_core::{
    Fault, SourceId,
    isolation::{IsolationAdvice, ServerUsage, advise},
    outcome::Outcome,
    ports::{ledger::MetricsFilter, servers::ServerState},
    tool::ToolId,
};

use super::{CallTarget, Capabilities, ServerAccess, before_deadline};

const DAYS: u32 = 7;

impl Capabilities {
    pub(crate) async fn call_server_tool_isolated(
        &self,
        server: &str,
        tool: &str,
        arguments: &str,
        limit: Duration,
    ) -> Outcome {
        let access = self.server_access()?;
        access.learn(server).await?;
        let entry = access.entry(server, tool).await?;
        Ok(self.call_with_reservation(CallTarget::Isolated(entry), arguments, Some(limit)).await?.0)
    }
}

impl ServerAccess<'_> {
    /// Gets a server's listing if it is unknown, without leaving a connection open.
    pub(crate) async fn learn(&self, server: &str) -> Result<(), Fault> {
        let servers = self.registry_with(server).await?;
        before_deadline(self.deadline, server, servers.probe(server, self.caller)).await
    }

    /// Returns advice on calling a server. Without a ledger, it assumes no earlier calls.
    pub(crate) async fn advise(&self, server: &str) -> Result<IsolationAdvice, Fault> {
        self.registry_with(server).await?;
        let status = self.statuses().await?.into_iter().find(|status| *status.name == *server);
        let mut usage = ServerUsage {
            program: status.as_ref().is_some_and(|status| status.transport == "stdio"),
            running: status.is_some_and(|status| status.state == ServerState::Connected),
            ..ServerUsage::default()
        };
        if let Some(ledger) = &self.ports.ledger {
            let source = Some(SourceId::Server(server.into()));
            let filter = MetricsFilter { source, tool: None, days: Some(DAYS) };
            let callable = self.callable().await?;
            for tool in ledger.metrics(&filter).await? {
                let id = ToolId { source: tool.source.clone(), name: tool.tool.as_str().into() };
                if !self.catalog.server_tools.is_restricted() || self.may_call(&callable, &id) {
                    usage.calls += tool.calls;
                    usage.waited_ms += tool.connecting_ms;
                }
            }
        }
        Ok(advise(&usage))
    }
}

//! Alternatives to a call of a tool: similar tools, instead of a failed one or next to a found one, and connections of
//! their own, with advice on when to use them.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    Fault, SourceId,
    catalog::ToolEntry,
    fallback::{self, AlternativeTool, FailedTool, FallbackSearch},
    isolation::{IsolationAdvice, ServerUsage, advise},
    outcome::Outcome,
    ports::{ledger::MetricsFilter, servers::ServerState, tool_index::ToolHit},
    search::tools::twins::{ServerPositions, TwinOrder, group_twins},
    tool::ToolId,
};

use super::{CallTarget, Capabilities, ServerAccess, before_deadline, tool_id};

/// Hits beyond the limit that are also checked for twins.
pub(super) const EXTRA_HITS: usize = 10;

impl ServerAccess<'_> {
    pub(crate) async fn alternatives(
        &self,
        server: &str,
        tool: &str,
        error: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(AlternativeTool, Arc<ToolEntry>)>, Fault> {
        let entry = self.entry(server, tool).await?;
        let names = self.callable(None).await?;
        let failed = FailedTool { id: &entry.id, spec: &entry.spec, error };
        let may_call = |tool: &ToolId| self.may_call(&names, tool);
        let now = self.ports.clock.now_ms();
        let (index, ledger) = (&*self.ports.tools, self.ports.ledger.as_deref());
        let as_called = |hit: &ToolHit| self.ports.servers.describe_tool(&hit.id, &hit.spec);
        let places = self.places().await?;
        let candidates =
            FallbackSearch { index, ledger, may_call: &may_call, resolve_spec: &as_called, places };
        let fallbacks = fallback::alternatives(candidates, &failed, now, limit).await?;
        let mut alternatives = Vec::new();
        for alternative in fallbacks {
            // The server's current listing overrides the index, because a call would use it.
            let listed = self.listed(&alternative.id).await?;
            let fits = |now: &Arc<ToolEntry>| now.spec.effect <= entry.spec.effect;
            alternatives.extend(listed.filter(fits).map(|now| (alternative, now)));
        }
        Ok(alternatives)
    }

    pub(super) async fn places(&self) -> Result<ServerPositions, Fault> {
        Ok(self.statuses().await?.into_iter().map(|status| (status.name, status.place)).collect())
    }

    /// Returns the first `limit` hits. Twins follow the first of them, with its score and fit, in order of preference.
    /// The ledger is only read if there are twins.
    pub(super) async fn with_twins(
        &self,
        found: Vec<ToolHit>,
        limit: usize,
    ) -> Result<Vec<(ToolHit, Arc<ToolEntry>)>, Fault> {
        let mut hits = Vec::new();
        for hit in found {
            if let Some(entry) = self.listed(&hit.id).await? {
                hits.push((hit, entry));
            }
        }
        let mut groups = group_twins(hits, |(hit, _)| (&hit.id, &hit.spec));
        if groups.iter().any(|group| group.len() > 1) {
            let metrics = match &self.ports.ledger {
                Some(ledger) => ledger.metrics(&MetricsFilter::default()).await.unwrap_or_else(|fault| {
                    tracing::warn!("ordering twins without call metrics: {}", fault.in_one_line());
                    Vec::new()
                }),
                None => Vec::new(),
            };
            let order = TwinOrder::new(self.places().await?, &metrics);
            for group in &mut groups {
                let (score, fit) = (group[0].0.score, group[0].0.fit);
                group.sort_by(|(a, _), (b, _)| order.compare(&a.id, &b.id));
                group.iter_mut().for_each(|(hit, _)| (hit.score, hit.fit) = (score, fit));
            }
        }
        Ok(groups.into_iter().flatten().take(limit).collect())
    }
}

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
            let callable = self.callable(None).await?;
            for tool in ledger.metrics(&filter).await? {
                let id = tool_id(&tool.source, &tool.tool);
                if !self.catalog.server_tools.is_restricted() || self.may_call(&callable, &id) {
                    usage.calls += tool.calls;
                    usage.waited_ms += tool.connecting_ms;
                }
            }
        }
        Ok(advise(&usage))
    }
}

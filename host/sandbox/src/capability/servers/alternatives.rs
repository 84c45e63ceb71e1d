//! Alternatives to a tool: those to a failed one, and near-identical tools (twins) in search results.

use std::sync::Arc;

use gatehouse_core::{
    Fault,
    catalog::ToolEntry,
    fallback::{self, AlternativeTool, FailedTool, FallbackSearch},
    ports::{ledger::MetricsFilter, tool_index::ToolHit},
    search::tools::twins::{ServerPositions, TwinOrder, group_twins},
    tool::ToolId,
};

use super::ServerAccess;

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
        let names = self.callable().await?;
        let failed = FailedTool { id: &entry.id, spec: &entry.spec, error };
        let may_call = |tool: &ToolId| self.may_call(&names, tool);
        let now = self.ports.clock.now_ms();
        let (index, ledger) = (self.index()?, self.ports.ledger.as_deref());
        let as_called = |hit: &ToolHit| match &self.ports.servers {
            Some(servers) => servers.describe_tool(&hit.id, &hit.spec),
            None => Arc::clone(&hit.spec),
        };
        let places = self.places().await?;
        let candidates =
            FallbackSearch { index, ledger, may_call: &may_call, resolve_spec: &as_called, places };
        let found = fallback::alternatives(candidates, &failed, now, limit).await?;
        let mut alternatives = Vec::new();
        for one in found {
            // The server's current listing overrides the index, because a call would use it.
            let listed = self.listed(&one.id).await?;
            let fits = |now: &Arc<ToolEntry>| now.spec.effect <= entry.spec.effect;
            alternatives.extend(listed.filter(fits).map(|now| (one, now)));
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

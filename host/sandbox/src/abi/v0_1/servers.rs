//! `servers`: the MCP servers behind this host. Requires the grant `servers`. Servers and tools outside the preset are
//! unknown.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    catalog::ToolEntry,
    fallback, isolation,
    ports::{ledger, servers as core, tool_index},
    signature::{brief, signature},
    tool::SourceId,
};
use serde_json::{Map, Value};

use super::gatehouse::gate::{
    servers as wit,
    types::{Fault, Reply},
};
use crate::{
    capability::servers::{ServerTool, ServerToolMatches, ServerWithTools},
    state::State,
};

const MAX_HITS: u32 = 50;

const NO_CATEGORY: &str = "other";

fn within(limit: u32) -> usize {
    limit.clamp(1, MAX_HITS) as usize
}

impl wit::Host for State {
    async fn servers(&mut self) -> Result<Vec<wit::Server>, Fault> {
        Ok(self.capabilities.server_access()?.servers().await?.into_iter().map(Into::into).collect())
    }

    async fn tools(&mut self, server: String) -> Result<Vec<wit::ServerTool>, Fault> {
        Ok(self.capabilities.server_access()?.tools(&server).await?.into_iter().map(Into::into).collect())
    }

    async fn tool(&mut self, server: String, name: String) -> Result<wit::ServerTool, Fault> {
        Ok(self.capabilities.server_access()?.tool(&server, &name).await?.into())
    }

    async fn call(&mut self, server: String, tool: String, arguments: String) -> Result<Reply, Fault> {
        Ok(self.capabilities.call_server_tool(&server, &tool, &arguments, None).await?.into())
    }

    async fn call_within(
        &mut self,
        server: String,
        tool: String,
        arguments: String,
        timeout_ms: u64,
    ) -> Result<Reply, Fault> {
        let limit = Some(Duration::from_millis(timeout_ms));
        Ok(self.capabilities.call_server_tool(&server, &tool, &arguments, limit).await?.into())
    }

    async fn call_apart(
        &mut self,
        server: String,
        tool: String,
        arguments: String,
        timeout_ms: u64,
    ) -> Result<Reply, Fault> {
        let limit = Duration::from_millis(timeout_ms);
        Ok(self.capabilities.call_server_tool_isolated(&server, &tool, &arguments, limit).await?.into())
    }

    async fn learn(&mut self, server: String) -> Result<(), Fault> {
        Ok(self.capabilities.server_access()?.learn(&server).await?)
    }

    async fn advise(&mut self, server: String) -> Result<wit::Advice, Fault> {
        let isolation::IsolationAdvice { isolated: apart, reason } =
            self.capabilities.server_access()?.advise(&server).await?;
        Ok(wit::Advice { apart, reason })
    }

    async fn search(&mut self, query: wit::ToolSearch) -> Result<wit::ToolsFound, Fault> {
        let wit::ToolSearch { query, server, limit, min_score } = query;
        let min_score = if min_score.is_finite() { min_score } else { 0.0 };
        let question = tool_index::ToolSearchRequest { query, limit: within(limit), min_score };
        Ok(self.capabilities.server_access()?.search(question, server.as_deref()).await?.into())
    }

    async fn metrics(&mut self, filter: wit::MetricsFilter) -> Result<Vec<wit::ToolMetrics>, Fault> {
        let metrics = self.capabilities.server_access()?.metrics(filter.into()).await?;
        Ok(metrics.into_iter().map(Into::into).collect())
    }

    async fn alternatives(
        &mut self,
        server: String,
        tool: String,
        error: Option<String>,
        limit: u32,
    ) -> Result<Vec<wit::Alternative>, Fault> {
        let reach = self.capabilities.server_access()?;
        let alternatives = reach.alternatives(&server, &tool, error.as_deref(), within(limit)).await?;
        Ok(alternatives.into_iter().map(Into::into).collect())
    }

    async fn related(
        &mut self,
        server: String,
        tool: String,
        limit: u32,
    ) -> Result<Vec<wit::RelatedTool>, Fault> {
        let related = self.capabilities.server_access()?.related(&server, &tool, within(limit)).await?;
        Ok(related.into_iter().map(Into::into).collect())
    }

    async fn refresh(&mut self, server: Option<String>, force: bool) -> Result<wit::RefreshReport, Fault> {
        Ok(self.capabilities.server_access()?.refresh(server.as_deref(), force).await?.into())
    }
}

records! {
    ServerToolMatches => wit::ToolsFound { unmatched_terms, note } [hits];
}

enums! {
    core::ServerState => wit::State { Configured, Connecting, Connected, Dormant, Failed }
    core::CircuitState => wit::Circuit { Closed, Open, HalfOpen }
}

impl From<core::RefreshReport> for wit::RefreshReport {
    fn from(report: core::RefreshReport) -> Self {
        let core::RefreshReport { added, updated, removed, unchanged, embeddings, mut failed, omitted } =
            report;
        failed.extend(omitted.into_iter().filter_map(|(server, omitted)| Some((server, omitted.summary()?))));
        Self { added, updated, removed, unchanged, embeddings, failed }
    }
}

impl From<ServerWithTools> for wit::Server {
    fn from(server: ServerWithTools) -> Self {
        let ServerWithTools { status, tool_count } = server;
        Self {
            name: status.name.to_string(),
            transport: status.transport.to_owned(),
            tags: status.tags,
            state: status.state.into(),
            circuit: status.circuit.into(),
            recovery_in_ms: status.recovery_in_ms,
            tool_count,
            connected_at: status.connected_at,
            last_error: status.last_error,
            last_schema_change: status.last_schema_change,
        }
    }
}

impl From<ServerTool> for wit::ServerTool {
    fn from(tool: ServerTool) -> Self {
        let ServerTool { entry, known: known_tool } = tool;
        let schema = |schema: &Map<String, Value>| Value::Object(schema.clone()).to_string();
        let spec = &entry.spec;
        Self {
            server: entry.id.source.name().to_string(),
            name: entry.id.name.to_string(),
            title: spec.title.clone(),
            description: spec.description.clone(),
            brief: brief(&spec.description),
            input_schema: Value::Object(spec.schema_for_gates()).to_string(),
            output_schema: spec.output_schema.as_deref().map(schema),
            effect: spec.effect.into(),
            idempotent: spec.idempotent,
            additive: spec.additive,
            open_world: spec.open_world,
            category: known_tool.as_ref().map_or(NO_CATEGORY, |known_tool| known_tool.category).to_owned(),
            last_schema_change: known_tool.and_then(|known_tool| known_tool.last_change),
        }
    }
}

impl From<(tool_index::ToolHit, Arc<ToolEntry>)> for wit::ToolHit {
    fn from((hit, entry): (tool_index::ToolHit, Arc<ToolEntry>)) -> Self {
        Self {
            server: entry.id.source.name().to_string(),
            name: entry.id.name.to_string(),
            brief: brief(&entry.spec.description),
            signature: signature(&entry.spec),
            effect: entry.spec.effect.into(),
            score: hit.score,
            fit: hit.fit.into(),
        }
    }
}

impl From<wit::MetricsFilter> for ledger::MetricsFilter {
    fn from(filter: wit::MetricsFilter) -> Self {
        let source = filter.server.map(|server| SourceId::Server(server.into()));
        Self { source, tool: filter.tool, days: filter.days }
    }
}

impl From<ledger::ToolMetrics> for wit::ToolMetrics {
    fn from(metrics: ledger::ToolMetrics) -> Self {
        Self {
            server: metrics.source.name().to_string(),
            tool: metrics.tool,
            calls: metrics.calls,
            tool_errors: metrics.tool_errors,
            transport_errors: metrics.transport_errors,
            mean_ms: metrics.mean_ms,
            p50_ms: metrics.p50_ms,
            p95_ms: metrics.p95_ms,
            connecting_ms: metrics.connecting_ms,
            tokens_in: metrics.tokens_in,
            tokens_out: metrics.tokens_out,
            last_called: metrics.last_called,
            last_error: metrics.last_error,
        }
    }
}

impl From<(fallback::AlternativeTool, Arc<ToolEntry>)> for wit::Alternative {
    fn from((one, entry): (fallback::AlternativeTool, Arc<ToolEntry>)) -> Self {
        Self {
            server: entry.id.source.name().to_string(),
            tool: entry.id.name.to_string(),
            signature: signature(&entry.spec),
            effect: entry.spec.effect.into(),
            score: one.score,
            similarity: one.similarity,
            success_rate: one.success_rate,
            recency: one.recency,
            reason: one.reason,
        }
    }
}

impl From<ledger::RelatedTool> for wit::RelatedTool {
    fn from(one: ledger::RelatedTool) -> Self {
        let ledger::RelatedTool { source, tool, follows, together, of, lift } = one;
        Self { server: source.name().to_string(), tool, follows, together, of, lift }
    }
}

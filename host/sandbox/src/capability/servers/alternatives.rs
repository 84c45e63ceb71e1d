//! Alternatives to a failed tool that the call has access to.

use std::sync::Arc;

use gatehouse_core::{
    Fault,
    catalog::ToolEntry,
    fallback::{self, AlternativeTool, FailedTool, FallbackSearch},
    ports::tool_index::ToolHit,
    tool::ToolId,
};

use super::ServerAccess;

impl ServerAccess<'_> {
    pub(crate) async fn alternatives(
        &self,
        server: &str,
        tool: &str,
        error: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(AlternativeTool, Arc<ToolEntry>)>, Fault> {
        let entry = self.entry(server, tool).await?;
        let names = self.names();
        let failed = FailedTool { id: &entry.id, spec: &entry.spec, error };
        let may_call = |tool: &ToolId| self.may_call(&names, tool);
        let now = self.ports.clock.now_ms();
        let (index, ledger) = (self.index()?, self.ports.ledger.as_deref());
        let as_called = |hit: &ToolHit| match &self.ports.servers {
            Some(servers) => servers.describe_tool(&hit.id, &hit.spec),
            None => Arc::clone(&hit.spec),
        };
        let places = self.places();
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
}

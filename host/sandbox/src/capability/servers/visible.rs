//! Servers and tools that the caller may know. Access rules can hide some of those that the preset allows.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::{
    Fault,
    ports::servers::ServerStatus,
    server_tools::ToolNames,
    tool::{SourceId, ToolId},
};

use super::ServerAccess;

/// Callable tools by server.
pub(super) struct CallableTools(pub(super) HashMap<Arc<str>, CallableSet>);

pub(super) enum CallableSet {
    /// All that the preset allows.
    Unrestricted,
    Names(Arc<ToolNames>),
}

impl ServerAccess<'_> {
    /// Returns the status of each server that the caller may know. If access rules limit the caller, these have a tool
    /// that it may call, or have not listed any yet.
    pub(super) async fn statuses(&self) -> Result<Vec<ServerStatus>, Fault> {
        let Some(servers) = &self.ports.servers else { return Ok(Vec::new()) };
        let mut all = servers.status();
        all.retain(|server| self.catalog.server_tools.allows_server(server));
        if !self.catalog.server_tools.is_restricted() {
            return Ok(all);
        }
        let mut visible = Vec::new();
        for status in all {
            let known = servers.known(&status.name).await?;
            if known.is_none_or(|listed| !self.catalog.server_tools.callable(&listed).is_empty()) {
                visible.push(status);
            }
        }
        Ok(visible)
    }

    /// Returns the tools that the caller may call.
    pub(super) async fn callable(&self) -> Result<CallableTools, Fault> {
        let tools = &self.catalog.server_tools;
        let mut callable = HashMap::new();
        for ServerStatus { name, .. } in self.statuses().await? {
            let set = match &self.ports.servers {
                Some(servers) if tools.is_restricted() => {
                    let listed = servers.known(&name).await?;
                    CallableSet::Names(listed.map(|listed| tools.callable(&listed)).unwrap_or_default())
                }
                _ => CallableSet::Unrestricted,
            };
            callable.insert(name, set);
        }
        Ok(CallableTools(callable))
    }

    pub(super) fn may_call(&self, callable: &CallableTools, tool: &ToolId) -> bool {
        let SourceId::Server(server) = &tool.source else { return false };
        match callable.0.get(server) {
            Some(CallableSet::Unrestricted) => self.catalog.server_tools.allows_tool(tool),
            Some(CallableSet::Names(names)) => names.contains(&tool.name),
            None => false,
        }
    }
}

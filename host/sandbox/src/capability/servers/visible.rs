//! Servers and tools that the caller may know, and refreshes of their listings. Access rules can hide some of those that
//! the preset allows.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    Fault, ToolSpec, names,
    ports::servers::{RefreshReport, ServerListing, ServerRegistry, ServerStatus, UnlistedServer},
    server_tools::ToolNames,
    tool::{SourceId, ToolId},
};

use super::{ServerAccess, before_deadline};

/// Callable tools by server. `None` for all that the preset allows.
pub(super) type CallableTools = HashMap<Arc<str>, Option<Arc<ToolNames>>>;

impl ServerAccess<'_> {
    /// Returns the status of each server that the caller may know. If access rules limit the caller, these have a tool
    /// that it may call, or have not listed any yet.
    pub(super) async fn statuses(&self) -> Result<Vec<ServerStatus>, Fault> {
        let servers = &self.ports.servers;
        let mut statuses = servers.status();
        statuses.retain(|server| self.catalog.server_tools.allows_server(server));
        if !self.catalog.server_tools.is_restricted() {
            return Ok(statuses);
        }
        let mut visible = Vec::new();
        for status in statuses {
            let listing = servers.known(&status.name).await?;
            if listing.is_none_or(|listed| !self.catalog.server_tools.callable(&listed).is_empty()) {
                visible.push(status);
            }
        }
        Ok(visible)
    }

    /// Returns the tools that the caller may call, of all servers or of one.
    pub(super) async fn callable(&self, server: Option<&str>) -> Result<CallableTools, Fault> {
        let tools = &self.catalog.server_tools;
        let mut callable = HashMap::new();
        for ServerStatus { name, .. } in self.statuses().await? {
            if server.is_some_and(|server| *name != *server) {
                continue;
            }
            let mut names = None;
            if tools.is_restricted() {
                let listed = self.ports.servers.known(&name).await?;
                names = Some(listed.map(|listed| tools.callable(&listed)).unwrap_or_default());
            }
            callable.insert(name, names);
        }
        Ok(callable)
    }

    pub(super) fn may_call(&self, callable: &CallableTools, tool: &ToolId) -> bool {
        let SourceId::Server(server) = &tool.source else { return false };
        match callable.get(server) {
            Some(None) => self.catalog.server_tools.allows_tool(tool),
            Some(Some(names)) => names.contains(&tool.name),
            None => false,
        }
    }
}

const MAX_CONCURRENT_REFRESHES: usize = 8;

impl ServerAccess<'_> {
    /// Requests new listings from one server, or from all servers of the preset.
    pub(crate) async fn refresh(&self, server: Option<&str>, force: bool) -> Result<RefreshReport, Fault> {
        if let Some(server) = server {
            let servers = self.registry_with(server).await?;
            return before_deadline(self.deadline, server, self.refresh_one(servers, server, force)).await;
        }
        let reports = stream::iter(self.statuses().await?).map(|ServerStatus { name, .. }| async move {
            let refresh = self.refresh_one(&*self.ports.servers, &name, force);
            let report = before_deadline(self.deadline, &name, refresh).await;
            report.unwrap_or_else(|fault| RefreshReport {
                failed: vec![(name.to_string(), fault.in_one_line())],
                ..RefreshReport::default()
            })
        });
        Ok(reports
            .buffered(MAX_CONCURRENT_REFRESHES)
            .collect::<Vec<_>>()
            .await
            .into_iter()
            .fold(RefreshReport::default(), sum))
    }

    /// Refreshes a server. If access rules limit the caller, the report counts only the tools that it may call.
    async fn refresh_one(
        &self,
        servers: &dyn ServerRegistry,
        server: &str,
        force: bool,
    ) -> Result<RefreshReport, Fault> {
        if !self.catalog.server_tools.is_restricted() {
            return servers.refresh(Some(server), force, self.caller).await;
        }
        let before = self.callable_specs(servers.known(server).await?);
        let report = servers.refresh(Some(server), force, self.caller).await?;
        let now = self.callable_specs(servers.known(server).await?);
        let mut counted = RefreshReport { failed: report.failed, ..RefreshReport::default() };
        for spec in &now {
            match before.iter().find(|old_spec| old_spec.name == spec.name) {
                None => counted.added += 1,
                Some(old_spec) if old_spec == spec => counted.unchanged += 1,
                Some(_) => counted.updated += 1,
            }
        }
        let is_removed = |old_spec: &&Arc<ToolSpec>| !now.iter().any(|spec| spec.name == old_spec.name);
        counted.removed = before.iter().filter(is_removed).count() as u32;
        counted.embeddings = counted.added + counted.updated;
        Ok(counted)
    }

    fn callable_specs(&self, listed: Option<ServerListing>) -> Vec<Arc<ToolSpec>> {
        let Some(listed) = listed else { return Vec::new() };
        let callable = self.catalog.server_tools.callable(&listed);
        listed.listing.tools.iter().filter(|spec| callable.contains(&spec.name)).cloned().collect()
    }
}

fn sum(all: RefreshReport, one: RefreshReport) -> RefreshReport {
    let (mut failed, mut omitted) = (all.failed, all.omitted);
    failed.extend(one.failed);
    omitted.extend(one.omitted);
    RefreshReport {
        added: all.added + one.added,
        updated: all.updated + one.updated,
        removed: all.removed + one.removed,
        unchanged: all.unchanged + one.unchanged,
        embeddings: all.embeddings + one.embeddings,
        failed,
        omitted,
    }
}

/// Names servers without a listing: those that are still starting, then those that failed.
pub(super) fn missing_listings(servers: &[UnlistedServer]) -> String {
    const MAX_NAMED: usize = 20;
    const MAX_REASON: usize = 200;
    let list = |names: &[&str]| {
        let more = if names.len() > MAX_NAMED { ", …" } else { "" };
        format!("{}{more}", names[..names.len().min(MAX_NAMED)].join(", "))
    };
    let starting: Vec<&str> =
        servers.iter().filter(|server| server.failure.is_none()).map(|server| &*server.name).collect();
    let mut failed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for server in servers {
        if let Some(reason) = &server.failure {
            let prefix = format!("cannot reach server '{}': ", server.name);
            let reason = reason.strip_prefix(&prefix).unwrap_or(reason);
            failed.entry(reason).or_default().push(&server.name);
        }
    }
    let mut notes = Vec::new();
    if !starting.is_empty() {
        notes.push(format!("Still starting: {}; search again in a moment.", list(&starting)));
    }
    if !failed.is_empty() {
        let failed = failed.iter().take(MAX_NAMED);
        let failed = failed
            .map(|(reason, servers)| format!("{} ({})", list(servers), names::quoted(reason, MAX_REASON)));
        notes.push(format!("Not searched: {}.", failed.collect::<Vec<_>>().join(", ")));
    }
    notes.join("\n")
}

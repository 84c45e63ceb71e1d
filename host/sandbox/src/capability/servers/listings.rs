//! Refreshes the listings of servers, and names servers that have none.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    Fault, ToolSpec, names,
    ports::servers::{RefreshReport, ServerListing, ServerRegistry, ServerStatus, UnlistedServer},
};

use super::{ServerAccess, before_deadline};

const MAX_CONCURRENT_REFRESHES: usize = 8;

impl ServerAccess<'_> {
    /// Requests new listings from one server, or from all servers of the preset.
    pub(crate) async fn refresh(&self, server: Option<&str>, force: bool) -> Result<RefreshReport, Fault> {
        if let Some(server) = server {
            let servers = self.registry_with(server).await?;
            return before_deadline(self.deadline, server, self.refresh_one(servers, server, force)).await;
        }
        let Some(servers) = &self.ports.servers else { return Ok(RefreshReport::default()) };
        let reports = stream::iter(self.statuses().await?).map(|ServerStatus { name, .. }| async move {
            let refresh = self.refresh_one(&**servers, &name, force);
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
            match before.iter().find(|known| known.name == spec.name) {
                None => counted.added += 1,
                Some(known) if known == spec => counted.unchanged += 1,
                Some(_) => counted.updated += 1,
            }
        }
        let is_gone = |known: &&Arc<ToolSpec>| !now.iter().any(|spec| spec.name == known.name);
        counted.removed = before.iter().filter(is_gone).count() as u32;
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
    const MAX_WHY: usize = 200;
    let starting: Vec<&str> =
        servers.iter().filter(|server| server.failure.is_none()).map(|server| &*server.name).collect();
    let failed = servers.iter().filter_map(|server| Some((&server.name, server.failure.as_ref()?)));
    let mut notes = Vec::new();
    if !starting.is_empty() {
        let more = if starting.len() > MAX_NAMED { ", …" } else { "" };
        let names = starting[..starting.len().min(MAX_NAMED)].join(", ");
        notes.push(format!("Still starting: {names}{more}; search again in a moment."));
    }
    for (name, why) in failed.take(MAX_NAMED) {
        notes.push(format!("Not searched: {name}. {}", names::quoted(why, MAX_WHY)));
    }
    notes.join("\n")
}

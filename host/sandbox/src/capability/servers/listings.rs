//! Refreshes the listings of servers, and names servers that have none.

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    Fault, names,
    ports::servers::{RefreshReport, ServerStatus, UnlistedServer},
};

use super::{ServerAccess, before_deadline};

const MAX_CONCURRENT_REFRESHES: usize = 8;

impl ServerAccess<'_> {
    /// Requests new listings from one server, or from all servers of the preset.
    pub(crate) async fn refresh(&self, server: Option<&str>, force: bool) -> Result<RefreshReport, Fault> {
        if let Some(server) = server {
            let servers = self.registry_with(server)?;
            return before_deadline(self.deadline, server, servers.refresh(Some(server), force)).await;
        }
        let Some(servers) = &self.ports.servers else { return Ok(RefreshReport::default()) };
        let reports = stream::iter(self.statuses()).map(|ServerStatus { name, .. }| async move {
            let refresh = servers.refresh(Some(&name), force);
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

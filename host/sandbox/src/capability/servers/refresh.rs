//! Refreshes the listings of servers that the call has access to.

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    Fault,
    ports::servers::{RefreshReport, ServerStatus},
};

use super::{ServerAccess, in_time};

const MAX_CONCURRENT_REFRESHES: usize = 8;

impl ServerAccess<'_> {
    /// Requests new listings from one server, or from all servers of the preset.
    pub(crate) async fn refresh(&self, server: Option<&str>, force: bool) -> Result<RefreshReport, Fault> {
        if let Some(server) = server {
            let servers = self.servers_for(server)?;
            return in_time(self.deadline, server, servers.refresh(Some(server), force)).await;
        }
        let Some(servers) = &self.ports.servers else { return Ok(RefreshReport::default()) };
        let asked = stream::iter(self.statuses()).map(|ServerStatus { name, .. }| async move {
            let asked = servers.refresh(Some(&name), force);
            let report = in_time(self.deadline, &name, asked).await;
            report.unwrap_or_else(|fault| RefreshReport {
                failed: vec![(name.to_string(), fault.in_one_line())],
                ..RefreshReport::default()
            })
        });
        Ok(asked
            .buffered(MAX_CONCURRENT_REFRESHES)
            .collect::<Vec<_>>()
            .await
            .into_iter()
            .fold(RefreshReport::default(), sum))
    }
}

fn sum(all: RefreshReport, one: RefreshReport) -> RefreshReport {
    let mut failed = all.failed;
    failed.extend(one.failed);
    RefreshReport {
        added: all.added + one.added,
        updated: all.updated + one.updated,
        removed: all.removed + one.removed,
        unchanged: all.unchanged + one.unchanged,
        embeddings: all.embeddings + one.embeddings,
        failed,
    }
}

//! Asking servers anew what they list, those that the call may reach.

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    Fault,
    ports::servers::{RefreshReport, ServerStatus},
};

use super::{ServerAccess, in_time};

/// Servers that are asked at the same time.
const MAX_CONCURRENT_REFRESHES: usize = 8;

impl ServerAccess<'_> {
    /// Asks servers anew what they list. Those that the preset does not reach are left alone.
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

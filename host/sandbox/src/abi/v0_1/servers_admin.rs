//! `servers-admin`: changes to the MCP servers behind this host. Requires the grant `servers-admin`.

use super::gatehouse::gate::{servers, servers_admin as wit, types::Fault};
use crate::state::State;

impl wit::Host for State {
    async fn reset_metrics(&mut self, filter: servers::MetricsFilter) -> Result<u64, Fault> {
        Ok(self.capabilities.reset_metrics(&filter.into()).await?)
    }

    async fn change(&mut self, name: String, definition: String) -> Result<wit::Added, Fault> {
        let connected = self.capabilities.change_server(&name, &definition).await?;
        Ok(match connected {
            Ok(listed) => {
                let tool_count = Some(listed.listing.tools.len() as u32);
                wit::Added { name, tool_count, problem: None }
            }
            Err(fault) => wit::Added { name, tool_count: None, problem: Some(fault.in_one_line()) },
        })
    }

    async fn remove(&mut self, name: String) -> Result<bool, Fault> {
        Ok(self.capabilities.remove_server(&name).await?)
    }
}

//! `servers-admin`: changes to the MCP servers behind this host, for all presets. Grant it with care: adding a server
//! can run any program on the host.

use gatehouse_core::{
    Fault,
    capability::{AccessLevel, Capability},
    json,
    ports::{CallLedger, ServerRegistry, ledger::MetricsFilter, servers::ServerListing},
};

use super::{Capabilities, object};

const MAX_NAME: usize = 64;

impl Capabilities {
    fn admin_registry(&self) -> Result<&dyn ServerRegistry, Fault> {
        Ok(&*self.granted(Capability::ServersAdmin, AccessLevel::Full)?.facts.ports.servers)
    }

    /// Adds or replaces a server; `definition` is JSON. The inner result is the attempt to connect.
    pub(crate) async fn change_server(
        &self,
        name: &str,
        definition: &str,
    ) -> Result<Result<ServerListing, Fault>, Fault> {
        let servers = self.admin_registry()?;
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(Fault::invalid(format!("a server name must have 1 to {MAX_NAME} bytes")));
        }
        let mut reader = json::JsonReader::new(&self.budget);
        let definition = object(&format!("the definition of '{name}'"), reader.parse(definition));
        servers.change(name, &definition.map_err(Fault::invalid)?).await
    }

    pub(crate) async fn remove_server(&self, name: &str) -> Result<bool, Fault> {
        self.admin_registry()?.remove(name).await
    }

    /// Deletes recorded call metrics and returns how many.
    pub(crate) async fn reset_metrics(&self, filter: &MetricsFilter) -> Result<u64, Fault> {
        let granted = self.granted(Capability::ServersAdmin, AccessLevel::Full)?;
        let none = || Fault::unavailable("this host does not record calls");
        let ledger: &dyn CallLedger = granted.facts.ports.ledger.as_deref().ok_or_else(none)?;
        ledger.reset(filter).await
    }
}

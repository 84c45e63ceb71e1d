//! `servers-admin`: changes to the MCP servers behind this host, for all presets. Granted as `servers-admin`: whoever has
//! it can have the host run programs.

use gatehouse_core::{
    Fault,
    capability::{AccessLevel, Capability},
    json,
    ports::{CallLedger, ServerRegistry, ledger::MetricsFilter, servers::ServerListing},
};
use serde_json::Value;

use super::Capabilities;

/// The most bytes of the name of a server.
const MAX_NAME: usize = 64;

impl Capabilities {
    fn servers_to_change(&self) -> Result<&dyn ServerRegistry, Fault> {
        let granted = self.granted(Capability::ServersAdmin, AccessLevel::Full)?;
        let none = || Fault::unavailable("This host has no servers behind it.");
        granted.facts.ports.servers.as_deref().ok_or_else(none)
    }

    /// Adds or replaces a server; the definition is JSON. Inside, what became of connecting it.
    pub(crate) async fn change_server(
        &self,
        name: &str,
        definition: &str,
    ) -> Result<Result<ServerListing, Fault>, Fault> {
        let servers = self.servers_to_change()?;
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(Fault::invalid(format!("The name of a server has 1 to {MAX_NAME} characters.")));
        }
        let mut reader = json::JsonReader::new(&self.budget);
        match reader.parse(definition) {
            Ok(Value::Object(definition)) => servers.change(name, &definition).await,
            Ok(_) => Err(Fault::invalid(format!("the definition of '{name}' is not a JSON object"))),
            Err(why) => Err(Fault::invalid(format!("the definition of '{name}' {why}"))),
        }
    }

    /// Removes a server that was added.
    pub(crate) async fn remove_server(&self, name: &str) -> Result<bool, Fault> {
        self.servers_to_change()?.remove(name).await
    }

    /// Forgets how calls went.
    pub(crate) async fn reset_metrics(&self, filter: &MetricsFilter) -> Result<u64, Fault> {
        let granted = self.granted(Capability::ServersAdmin, AccessLevel::Full)?;
        let none = || Fault::unavailable("This host keeps no ledger of calls.");
        let ledger: &dyn CallLedger = granted.facts.ports.ledger.as_deref().ok_or_else(none)?;
        ledger.reset(filter).await
    }
}

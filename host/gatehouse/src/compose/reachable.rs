//! The servers that gates of a preset may reach, whose tools clients are not shown.

use std::sync::Arc;

use gatehouse_core::{CompiledPreset, Source, capability::Capability, ports::ServerRegistry as _};

use super::Composition;

impl Composition {
    /// Whether a gate of this preset may reach servers.
    pub(crate) fn reaches_servers(&self, exposure: &CompiledPreset) -> bool {
        exposure.gates().any(|gate| self.gate_reaches_servers(gate))
    }

    /// Whether a gate may reach servers.
    pub(crate) fn gate_reaches_servers(&self, gate: &str) -> bool {
        let settings = self.gates.settings(gate);
        settings.is_some_and(|settings| settings.grants.access(Capability::Servers).is_some())
    }

    /// Returns the servers that gates of this preset may reach. Starts none.
    pub(super) fn reachable_servers(&self, exposure: &CompiledPreset) -> Vec<Arc<dyn Source>> {
        if !self.reaches_servers(exposure) {
            return Vec::new();
        }
        let live = &self.stores.servers.live;
        let reached =
            live.status().into_iter().filter(|server| exposure.allows_server(&server.name, &server.tags));
        reached.filter_map(|server| live.source(&server.name)).collect()
    }
}

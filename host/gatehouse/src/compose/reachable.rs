//! Servers that the gates of a preset may call, although clients do not see their tools directly.

use std::sync::Arc;

use gatehouse_core::{CompiledPreset, Source, capability::Capability, ports::ServerRegistry as _};

use super::Composition;

impl Composition {
    pub(crate) fn reaches_servers(&self, exposure: &CompiledPreset) -> bool {
        exposure.gates().any(|gate| self.gate_reaches_servers(gate))
    }

    pub(crate) fn gate_reaches_servers(&self, gate: &str) -> bool {
        let settings = self.gates.settings(gate);
        settings.is_some_and(|settings| settings.grants.access(Capability::Servers).is_some())
    }

    /// Returns the servers that gates of this preset may call. Starts none.
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

//! Configured MCP servers with their indexed tools, and the tool that clients of a preset use to call them. Starts no
//! server.

use std::{collections::BTreeMap, sync::Arc};

use gatehouse_core::{
    Catalog, CompiledPreset, Fault, Source,
    capability::Capability,
    ports::{ServerRegistry as _, servers::ServerListing},
    source::OmittedItems,
    tool::SourceId,
};

use super::Composition;
use crate::config::ServerConfig;

pub(crate) struct KnownServer {
    pub(crate) config: ServerConfig,
    /// Tools that it listed last. `None` if it was never listed.
    pub(crate) listing: Option<ServerListing>,
}

impl KnownServer {
    /// Returns the names that clients see for its tools, before overrides by presets.
    pub(crate) fn exposed_names(&self) -> Vec<String> {
        let listed = self
            .listing
            .iter()
            .flat_map(|listed| listed.listing.tools.iter().map(move |tool| (listed, tool)));
        listed
            .filter_map(|(listed, tool)| Some(listed.source.id().exposed_name(&tool.name).ok()?.to_string()))
            .collect()
    }
}

impl Composition {
    /// Returns every configured server by name, including disabled ones.
    pub(crate) async fn known_servers(&self) -> Result<BTreeMap<String, KnownServer>, Fault> {
        let configured = tokio::task::block_in_place(|| self.stores.servers.configured());
        // Reading would create the index.
        let indexed = self.config.state.join("tools.db").exists();
        let mut servers = BTreeMap::new();
        for (name, config) in configured {
            let listing = match indexed && config.enabled {
                true => self.stores.servers.live.known(&name).await?,
                false => None,
            };
            servers.insert(name, KnownServer { config, listing });
        }
        Ok(servers)
    }

    /// Returns what was left out of the last listing of servers. Starts none.
    pub(crate) async fn omitted_items(&self) -> Result<BTreeMap<String, OmittedItems>, Fault> {
        let listed = self.known_servers().await?.into_iter();
        let omitted =
            listed.filter_map(|(name, server)| Some((name, server.listing?.listing.omitted.clone())));
        Ok(omitted.filter(|(_, omitted)| !omitted.is_empty()).collect())
    }

    /// Returns the tool with which clients of a preset call server tools, else the gate that calls them for its own
    /// tools. `None` if no gate may call servers.
    pub(crate) async fn server_tool_caller(&self, catalog: &Catalog) -> Option<String> {
        let granted = self.granted(Capability::Servers).await;
        let entries: Vec<_> = catalog
            .entries()
            .iter()
            .filter(|entry| {
                matches!(&entry.id.source, SourceId::Gate(gate) if granted.iter().any(|name| **name == **gate))
            })
            .collect();
        let forwards = |listed: bool| {
            let tools = ["call_tool", "request"].into_iter();
            tools.filter_map(|tool| entries.iter().find(|e| *e.id.name == *tool && e.listed == listed)).next()
        };
        let tool = forwards(true).or_else(|| forwards(false)).map(|entry| entry.name.to_string());
        tool.or_else(|| entries.first().map(|entry| entry.id.source.to_string()))
    }

    pub(crate) fn reaches_servers(&self, compiled: &CompiledPreset) -> bool {
        compiled.gates().any(|gate| self.gate_reaches_servers(gate))
    }

    pub(crate) fn gate_reaches_servers(&self, gate: &str) -> bool {
        let settings = self.gates.settings(gate);
        settings.is_some_and(|settings| settings.grants.access(Capability::Servers).is_some())
    }

    /// Returns the servers that gates of this preset may call. Starts none.
    pub(super) fn reachable_servers(&self, compiled: &CompiledPreset) -> Vec<Arc<dyn Source>> {
        if !self.reaches_servers(compiled) {
            return Vec::new();
        }
        let live = &self.stores.servers.live;
        let reached =
            live.status().into_iter().filter(|server| compiled.allows_server(&server.name, &server.tags));
        reached.filter_map(|server| live.source(&server.name)).collect()
    }
}

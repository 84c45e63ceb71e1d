//! The tool surface: the tools that a preset lists to a client.
//!
//! A preset with servers and a gate that calls them can list either. Clients that read every definition at the start
//! pay for each server's tools; clients that load definitions when they need them do not.

use std::sync::Arc;

use crate::{
    Catalog, CompiledPreset, SourceId, catalog::ToolEntry, forwarding::relays_reply, workflow::takes_requests,
};

/// Selection of the surface in a preset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SurfaceMode {
    /// Every listed tool, for every client.
    #[default]
    All,
    /// [`ToolSurface::Direct`] for clients that search tools themselves, [`ToolSurface::Proxied`] for others.
    Auto,
}

/// The part of a catalog's tools that one client lists. All tools can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSurface {
    All,
    /// The servers' tools, without the gate that calls them.
    Direct,
    /// The gate that calls the servers' tools, without these.
    Proxied,
}

impl ToolSurface {
    /// Returns the surface for a client, given whether it searches tools itself.
    pub fn for_client(catalog: &Catalog, searches_tools: bool) -> Self {
        match (catalog.surface, searches_tools) {
            (SurfaceMode::All, _) => Self::All,
            (SurfaceMode::Auto, true) => Self::Direct,
            (SurfaceMode::Auto, false) => Self::Proxied,
        }
    }

    /// Returns the tools to list, sorted by name.
    pub fn tools(self, catalog: &Catalog) -> impl Iterator<Item = &Arc<ToolEntry>> {
        let relaying: Vec<&SourceId> = match self {
            // Servers that only the gate reaches would be lost.
            Self::Direct if !catalog.has_other_servers => {
                let entries = catalog.entries().iter().filter(|entry| relays_reply(entry));
                entries.map(|entry| &entry.id.source).collect()
            }
            _ => Vec::new(),
        };
        let relays = catalog.entries().iter().any(|entry| entry.listed && relays_reply(entry));
        catalog.entries().iter().filter(move |entry| {
            let shown = match self {
                Self::All => true,
                Self::Direct => !relaying.contains(&&entry.id.source) || takes_requests(entry),
                Self::Proxied => !relays || matches!(entry.id.source, SourceId::Gate(_)),
            };
            entry.listed && (shown || entry.pinned)
        })
    }
}

/// Returns a warning if the preset's surface is [`SurfaceMode::Auto`], but it has only one of the two parts.
pub fn missing_part(preset: &CompiledPreset, catalog: &Catalog) -> Option<String> {
    let has_servers = preset.sources.iter().any(|(id, _)| matches!(id, SourceId::Server(_)));
    let relays = catalog.entries().iter().any(|entry| entry.listed && relays_reply(entry));
    let missing = match (catalog.surface, has_servers, relays) {
        (SurfaceMode::All, ..) | (SurfaceMode::Auto, true, true) => return None,
        (SurfaceMode::Auto, false, _) => "add `servers`",
        (SurfaceMode::Auto, true, false) => "add a gate that calls the tools of servers: `gates.proxy = {}`",
    };
    let preset = &preset.preset;
    Some(format!("preset '{preset}': surface = \"auto\" has no effect: {missing}"))
}

#[cfg(test)]
mod tests;

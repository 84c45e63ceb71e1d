//! The tool surface: the tools that a preset lists to a client.
//!
//! A preset with servers and a gate that calls them can list either. Clients that read every definition at the start
//! pay for each server's tools; clients that load definitions when they need them do not.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    Catalog, CompiledPreset, SourceId, ToolEntry,
    forwarding::{forwards, relays_reply},
    workflow::takes_requests,
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
    /// Everything that the gate for servers' tools would find, without this gate: unlisted tools too. If a server has more
    /// than [`MAX_SERVER_TOKENS`](crate::catalog::MAX_SERVER_TOKENS), its listed tools and the gate.
    Direct,
    /// The gate that finds and calls the servers' tools, without these.
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

    /// Returns the surfaces that clients of a catalog can have.
    pub fn used_in(catalog: &Catalog) -> &'static [Self] {
        match catalog.surface {
            SurfaceMode::All => &[Self::All],
            SurfaceMode::Auto => &[Self::Direct, Self::Proxied],
        }
    }

    /// Returns the tools to list, sorted by name.
    pub fn tools(self, catalog: &Catalog) -> impl Iterator<Item = &Arc<ToolEntry>> {
        let hidden = self.hidden_sources(catalog);
        // The hidden gate would find unlisted tools.
        let has_unlisted = self == Self::Direct && !hidden.is_empty();
        catalog.entries().iter().filter(move |entry| match hidden.contains(&entry.id.source) {
            // A tool that takes requests calls tools of gates too.
            true => entry.listed && (entry.pinned || takes_requests(entry)),
            false => entry.listed || has_unlisted,
        })
    }

    /// Returns false if this surface leaves out all tools of a source.
    pub fn shows(self, catalog: &Catalog, source: &SourceId) -> bool {
        !self.hidden_sources(catalog).contains(source)
            || self.tools(catalog).any(|entry| entry.id.source == *source)
    }

    /// Returns true if a client with this surface calls the servers' tools through a gate, except pinned ones.
    pub fn needs_gate(self, catalog: &Catalog) -> bool {
        let gates = relaying_gates(catalog);
        let is_direct = |entry: &Arc<ToolEntry>| is_of_server(entry) && !entry.pinned;
        self.tools(catalog).any(|entry| gates.contains(&entry.id.source))
            && !self.tools(catalog).any(is_direct)
    }

    fn hidden_sources(self, catalog: &Catalog) -> BTreeSet<&SourceId> {
        let gates = relaying_gates(catalog);
        match self {
            // Servers and tools that only the gate reaches would be lost.
            Self::Direct if !catalog.has_other_servers && !catalog.has_oversized_servers => gates,
            Self::Proxied if !gates.is_empty() => {
                let entries = catalog.entries().iter().filter(|entry| is_of_server(entry));
                entries.map(|entry| &entry.id.source).collect()
            }
            _ => BTreeSet::new(),
        }
    }
}

fn is_of_server(entry: &ToolEntry) -> bool {
    matches!(entry.id.source, SourceId::Server(_))
}

/// Returns the gates that list a tool which calls others, and one to find these.
fn relaying_gates(catalog: &Catalog) -> BTreeSet<&SourceId> {
    let listed = || catalog.entries().iter().filter(|entry| entry.listed);
    let finds = |source: &SourceId| listed().any(|entry| entry.id.source == *source && !forwards(entry));
    let calls = listed().filter(|entry| relays_reply(entry)).map(|entry| &entry.id.source);
    calls.filter(|source| finds(source)).collect()
}

/// Returns a warning if the preset's surface is [`SurfaceMode::Auto`], but it has only one of the two parts. A catalog
/// with [`SurfaceMode::All`] has no gate that may call servers.
pub fn missing_part(preset: &CompiledPreset, catalog: &Catalog) -> Option<String> {
    let has_servers = preset.sources.iter().any(|(id, _)| matches!(id, SourceId::Server(_)));
    let missing = match preset.surface {
        SurfaceMode::All => return None,
        SurfaceMode::Auto if !has_servers => "add `servers`",
        SurfaceMode::Auto if relaying_gates(catalog).is_empty() => {
            "add a gate that finds and calls the tools of servers, such as `gates.proxy = {}`, and list its tools"
        }
        SurfaceMode::Auto if catalog.surface == SurfaceMode::All => {
            "add \"servers\" to the grants of the gate that calls their tools"
        }
        SurfaceMode::Auto => return None,
    };
    let preset = &preset.preset;
    Some(format!("preset '{preset}': surface = \"auto\" has no effect: {missing}"))
}

#[cfg(test)]
mod tests;

//! Tools of servers that gates can call although the client does not see them. The preset's overrides and `deny`
//! patterns apply as if they were exposed.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex},
};

use crate::{
    approval::{self, RequiredApprovals},
    catalog::ToolEntry,
    lock, names,
    outcome::Fault,
    patterns::UnmatchedPattern,
    ports::servers::{ServerListing, ServerStatus},
    preset::{CompiledPreset, server_names},
    tool::ToolId,
};

/// Access rules of one preset.
pub struct ServerTools {
    preset: Arc<CompiledPreset>,
    /// Approvals of exposed tools, perhaps under other names.
    approvals: RequiredApprovals,
    /// Entries of called tools, because reading a schema is slower than validating arguments.
    cached: Mutex<HashMap<ToolId, Arc<ToolEntry>>>,
}

/// Servers take no parameters.
static NO_PARAMS: LazyLock<Arc<str>> = LazyLock::new(|| "{}".into());

/// Maximum cached entries, more than a session needs; above it the cache is cleared.
const MAX_CACHED_ENTRIES: usize = 1_024;

impl ServerTools {
    pub(crate) fn new(preset: &CompiledPreset, approvals: RequiredApprovals) -> Self {
        Self { preset: Arc::new(preset.clone()), approvals, cached: Mutex::default() }
    }

    pub fn allows_server(&self, server: &ServerStatus) -> bool {
        self.preset.allows_server(&server.name, &server.tags)
    }

    /// Returns true if a tool is neither hidden nor denied. Does not check its server.
    pub fn allows_tool(&self, tool: &ToolId) -> bool {
        tool.source.exposed_name(&tool.name).is_ok_and(|name| {
            let name = name.as_str();
            let change = self.preset.tools.get(name);
            let shown = change.and_then(|change| change.name.as_deref()).unwrap_or(name);
            !change.is_some_and(|change| change.hidden) && self.preset.denies(tool, shown).is_none()
        })
    }

    /// Returns a tool by the server's own name, with the preset's overrides.
    ///
    /// A hidden or denied tool gives the same fault as a missing one. A quarantined tool is denied with the reason.
    pub fn entry(&self, listed: &ServerListing, tool: &str) -> Result<Arc<ToolEntry>, Fault> {
        let server = listed.source.id().name();
        let id = |name: &Arc<str>| ToolId { source: listed.source.id().clone(), name: Arc::clone(name) };
        let found =
            listed.listing.tools.iter().find(|spec| &*spec.name == tool && self.allows_tool(&id(&spec.name)));
        let Some(spec) = found else {
            let shown = listed.listing.tools.iter().filter(|spec| self.allows_tool(&id(&spec.name)));
            let near = names::did_you_mean(tool, shown.map(|spec| &*spec.name));
            let tool = names::quoted(tool, 64);
            return Err(Fault::not_found(format!("server '{server}' has no tool '{tool}'.{near}")));
        };
        if let Some((_, why)) = listed.quarantined.iter().find(|(held, _)| *held == *spec.name) {
            return Err(Fault::denied(format!("tool '{tool}' of server '{server}' is quarantined: {why}"))
                .hint(format!("To review and approve it, run: gatehouse servers review {server}")));
        }
        let id = id(&spec.name);
        let made = lock(&self.cached).get(&id).cloned();
        let is_of = |entry: &Arc<ToolEntry>| {
            Arc::ptr_eq(&entry.declared, spec) && Arc::ptr_eq(&entry.source, &listed.source)
        };
        if let Some(entry) = made.filter(is_of) {
            return Ok(entry);
        }
        let entry = ToolEntry::from_listing(&self.preset, &listed.source, &listed.listing, spec, &NO_PARAMS)
            .map_err(|error| Fault::internal(error.to_string()))?
            .map(|mut entry| {
                let shown = self.approvals.get(&entry.id).copied();
                let own = approval::required_scope(&self.preset, &entry);
                entry.approval = shown.into_iter().chain(own).min();
                Arc::new(entry)
            })
            .ok_or_else(|| Fault::not_found(format!("server '{server}' has no tool '{tool}'")))?;
        let mut made = lock(&self.cached);
        if made.len() >= MAX_CACHED_ENTRIES {
            made.clear();
        }
        made.insert(id, Arc::clone(&entry));
        Ok(entry)
    }

    /// Returns true if a pattern of the preset matches a tool of this server, including denied ones.
    pub fn matches(&self, pattern: &UnmatchedPattern, listed: &ServerListing) -> bool {
        listed.listing.tools.iter().any(|spec| {
            ToolEntry::from_listing(&self.preset, &listed.source, &listed.listing, spec, &NO_PARAMS)
                .is_ok_and(|entry| entry.is_some_and(|entry| pattern.matches(&entry)))
        })
    }

    pub fn unmatched_servers(&self, servers: &[(&str, &[String])]) -> Vec<&str> {
        let names: Vec<String> =
            servers.iter().flat_map(|(server, tags)| server_names(server, tags)).collect();
        self.preset.proxied.iter().flat_map(|proxied| proxied.unmatched(&names)).collect()
    }

    /// Returns the callable tools of a server, sorted by name.
    pub fn entries(&self, listed: &ServerListing) -> Vec<Arc<ToolEntry>> {
        let mut entries: Vec<_> =
            listed.listing.tools.iter().filter_map(|spec| self.entry(listed, &spec.name).ok()).collect();
        entries.sort_by(|a, b| a.id.name.cmp(&b.id.name));
        entries
    }
}

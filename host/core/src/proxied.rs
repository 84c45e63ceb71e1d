//! What gates of a preset may reach of servers, whose tools the client is not shown: named, changed, hidden and denied by
//! the same lines of the preset as if it were.

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

/// The rules of one preset.
pub struct ServerTools {
    exposure: Arc<CompiledPreset>,
    /// What tools need that the client is shown, maybe by another name.
    approvals: RequiredApprovals,
    /// Tools that were called, with what they were made of: to read a schema takes longer than to check arguments.
    cached: Mutex<HashMap<ToolId, Arc<ToolEntry>>>,
}

/// Parameters of a server, which takes none.
static NO_PARAMS: LazyLock<Arc<str>> = LazyLock::new(|| "{}".into());

/// Entries that are kept. Where there are more, all are made anew; a session calls far fewer tools.
const MAX_CACHED_ENTRIES: usize = 1_024;

impl ServerTools {
    pub(crate) fn new(exposure: &CompiledPreset, approvals: RequiredApprovals) -> Self {
        Self { exposure: Arc::new(exposure.clone()), approvals, cached: Mutex::default() }
    }

    /// Whether the preset lets its gates reach a server.
    pub fn allows_server(&self, server: &ServerStatus) -> bool {
        self.exposure.allows_server(&server.name, &server.tags)
    }

    /// Whether a tool of a server that may be reached may be found and called.
    pub fn allows_tool(&self, tool: &ToolId) -> bool {
        tool.source.exposed_name(&tool.name).is_ok_and(|name| {
            let name = name.as_str();
            let change = self.exposure.tools.get(name);
            let shown = change.and_then(|change| change.name.as_deref()).unwrap_or(name);
            !change.is_some_and(|change| change.hidden) && self.exposure.denied_by(shown).is_none()
        })
    }

    /// A tool of a server, by the server's own name, as the preset changes it. One that is hidden or denied is as unknown
    /// as one that does not exist; one that is held back is denied, with the reason.
    pub fn entry(&self, listed: &ServerListing, tool: &str) -> Result<Arc<ToolEntry>, Fault> {
        let server = listed.source.id().name();
        let id = |name: &Arc<str>| ToolId { source: listed.source.id().clone(), name: Arc::clone(name) };
        let found =
            listed.listing.tools.iter().find(|spec| &*spec.name == tool && self.allows_tool(&id(&spec.name)));
        let Some(spec) = found else {
            let shown = listed.listing.tools.iter().filter(|spec| self.allows_tool(&id(&spec.name)));
            let near = names::did_you_mean(tool, shown.map(|spec| &*spec.name));
            let tool = names::quoted(tool, 64);
            return Err(Fault::not_found(format!("Server '{server}' has no tool '{tool}'.{near}")));
        };
        if let Some((_, why)) = listed.quarantined.iter().find(|(held, _)| *held == *spec.name) {
            return Err(Fault::denied(format!("Tool '{tool}' of server '{server}' is held back: {why}"))
                .hint(format!("To look at it and approve it: gatehouse servers review {server}")));
        }
        let id = id(&spec.name);
        let made = lock(&self.cached).get(&id).cloned();
        let is_of = |entry: &Arc<ToolEntry>| {
            Arc::ptr_eq(&entry.declared, spec) && Arc::ptr_eq(&entry.source, &listed.source)
        };
        if let Some(entry) = made.filter(is_of) {
            return Ok(entry);
        }
        let entry =
            ToolEntry::from_listing(&self.exposure, &listed.source, &listed.listing, spec, &NO_PARAMS)
                .map_err(|error| Fault::internal(error.to_string()))?
                .map(|mut entry| {
                    let shown = self.approvals.get(&entry.id).copied();
                    let own = approval::required_scope(&self.exposure, &entry);
                    entry.approval = shown.into_iter().chain(own).min();
                    Arc::new(entry)
                })
                .ok_or_else(|| Fault::not_found(format!("Server '{server}' has no tool '{tool}'.")))?;
        let mut made = lock(&self.cached);
        if made.len() >= MAX_CACHED_ENTRIES {
            made.clear();
        }
        made.insert(id, Arc::clone(&entry));
        Ok(entry)
    }

    /// True if a pattern of the preset matches a tool of this server, denied ones included.
    pub fn matches(&self, pattern: &UnmatchedPattern, listed: &ServerListing) -> bool {
        listed.listing.tools.iter().any(|spec| {
            ToolEntry::from_listing(&self.exposure, &listed.source, &listed.listing, spec, &NO_PARAMS)
                .is_ok_and(|entry| entry.is_some_and(|entry| pattern.matches(&entry)))
        })
    }

    /// Patterns of `proxied` that match none of these servers, each given by its name and tags.
    pub fn unmatched_servers(&self, servers: &[(&str, &[String])]) -> Vec<&str> {
        let names: Vec<String> =
            servers.iter().flat_map(|(server, tags)| server_names(server, tags)).collect();
        self.exposure.proxied.iter().flat_map(|proxied| proxied.unmatched(&names)).collect()
    }

    /// Every tool of a server that may be called, as the preset changes it, by name.
    pub fn entries(&self, listed: &ServerListing) -> Vec<Arc<ToolEntry>> {
        let mut entries: Vec<_> =
            listed.listing.tools.iter().filter_map(|spec| self.entry(listed, &spec.name).ok()).collect();
        entries.sort_by(|a, b| a.id.name.cmp(&b.id.name));
        entries
    }
}

//! Tools of servers that gates can call although the client does not see them. The preset's overrides and `deny`
//! patterns apply as if they were exposed.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, LazyLock, Mutex},
};

use crate::{
    CompiledPreset, Fault, Listing, ToolEntry, ToolId, ToolSpec,
    access::{PresetAccess, pattern_names},
    approval::{self, RequiredApprovals},
    lock, names,
    patterns::UnmatchedPattern,
    ports::servers::{ServerListing, ServerStatus},
    preset::server_names,
};

/// Tools of servers that one preset, and one caller if access is limited, may use.
#[derive(Clone)]
pub struct ServerTools {
    preset: Arc<CompiledPreset>,
    /// Approvals of exposed tools, perhaps under other names.
    approvals: Arc<RequiredApprovals>,
    /// Entries of called tools, because reading a schema is slower than validating arguments.
    cached: Arc<Mutex<HashMap<ToolId, Arc<ToolEntry>>>>,
    restriction: Option<Arc<ServerRestriction>>,
}

pub type ToolNames = HashSet<Arc<str>>;

/// Names of the callable tools, by server, with the listing that they are from.
type CallableTools = HashMap<Arc<str>, (Arc<Listing>, Arc<ToolNames>)>;

/// The limit of what a caller may use.
struct ServerRestriction {
    access: Arc<PresetAccess>,
    callable: Mutex<CallableTools>,
}

/// Servers take no parameters.
static NO_PARAMS: LazyLock<Arc<str>> = LazyLock::new(|| "{}".into());

/// Maximum cached entries, more than a session needs; above it the cache is cleared.
const MAX_CACHED_ENTRIES: usize = 1_024;

impl ServerTools {
    pub(crate) fn new(preset: &CompiledPreset, approvals: RequiredApprovals) -> Self {
        Self {
            preset: Arc::new(preset.clone()),
            approvals: Arc::new(approvals),
            cached: Arc::default(),
            restriction: None,
        }
    }

    /// Returns the same tools, limited to those that a caller may use.
    pub(crate) fn restricted(&self, access: &Arc<PresetAccess>) -> Self {
        Self {
            preset: Arc::clone(&self.preset),
            approvals: Arc::clone(&self.approvals),
            cached: Arc::clone(&self.cached),
            restriction: Some(Arc::new(ServerRestriction {
                access: Arc::clone(access),
                callable: Mutex::default(),
            })),
        }
    }

    /// Returns false if the preset does not allow the server, or if no access rule could allow one of its tools.
    pub fn allows_server(&self, server: &ServerStatus) -> bool {
        self.preset.allows_server(&server.name, &server.tags)
            && self
                .restriction
                .as_ref()
                .is_none_or(|limit| self.may_allow_tools_of(&limit.access, &server.name))
    }

    fn may_allow_tools_of(&self, access: &PresetAccess, server: &str) -> bool {
        let begins = |name: &str| name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"));
        let renamed = self.preset.tools.iter().filter(|(name, _)| begins(name));
        let renamed: Vec<&str> = renamed.filter_map(|(_, change)| change.name.as_deref()).collect();
        access.may_allow_tools_of(server, &renamed)
    }

    /// Returns true if the preset neither hides nor denies a tool. Does not check its server or [access](Self::callable).
    pub fn allows_tool(&self, tool: &ToolId) -> bool {
        self.shown_name(tool).is_some()
    }

    /// Returns the name that the preset gives to a tool. `None` if the preset hides or denies it.
    fn shown_name(&self, tool: &ToolId) -> Option<String> {
        let name = tool.source.exposed_name(&tool.name).ok()?;
        let change = self.preset.tool_override(tool);
        let exposed_name = change.and_then(|change| change.name.as_deref()).unwrap_or(name.as_str());
        let is_hidden =
            change.is_some_and(|change| change.hidden) || self.preset.denies(tool, exposed_name).is_some();
        (!is_hidden).then(|| exposed_name.to_owned())
    }

    fn allows_spec(&self, tool: &ToolId, spec: &ToolSpec) -> bool {
        // Clients that have interfaces list the server itself.
        spec.is_for_models()
            && self.shown_name(tool).is_some_and(|display_name| {
                let restriction = self.restriction.as_ref();
                restriction
                    .is_none_or(|limit| limit.access.allows(&pattern_names(tool, &display_name), spec.effect))
            })
    }

    /// Returns true if access rules limit the caller, so that [`Self::callable`] decides about its tools.
    pub fn is_restricted(&self) -> bool {
        self.restriction.is_some()
    }

    /// Returns the names of the tools of a server that can be called.
    pub fn callable(&self, listed: &ServerListing) -> Arc<ToolNames> {
        let source = listed.source.id();
        let cached_entry =
            self.restriction.as_ref().and_then(|limit| lock(&limit.callable).get(source.name()).cloned());
        if let Some((_, names)) = cached_entry.filter(|(listing, _)| Arc::ptr_eq(listing, &listed.listing)) {
            return names;
        }
        let is_callable = |spec: &&Arc<ToolSpec>| {
            self.allows_spec(&ToolId { source: source.clone(), name: Arc::clone(&spec.name) }, spec)
        };
        let specs = listed.listing.tools.iter().filter(is_callable);
        let names = Arc::new(specs.map(|spec| Arc::clone(&spec.name)).collect::<ToolNames>());
        if let Some(limit) = &self.restriction {
            let new_entry = (Arc::clone(&listed.listing), Arc::clone(&names));
            lock(&limit.callable).insert(Arc::clone(source.name()), new_entry);
        }
        names
    }

    /// Returns a tool by the server's own name, with the preset's overrides.
    ///
    /// A hidden or denied tool gives the same fault as a missing one. A quarantined tool is denied with the reason.
    pub fn entry(&self, listed: &ServerListing, tool: &str) -> Result<Arc<ToolEntry>, Fault> {
        let server = listed.source.id().name();
        let id = |name: &Arc<str>| ToolId { source: listed.source.id().clone(), name: Arc::clone(name) };
        let allowed = |spec: &&Arc<ToolSpec>| self.allows_spec(&id(&spec.name), spec);
        let matching_spec = listed.listing.tools.iter().find(|spec| &*spec.name == tool && allowed(spec));
        let Some(spec) = matching_spec else {
            let visible_specs = listed.listing.tools.iter().filter(allowed);
            let suggestion = names::did_you_mean(tool, visible_specs.map(|spec| &*spec.name));
            let tool = names::quoted(tool, 64);
            return Err(Fault::not_found(format!("server '{server}' has no tool '{tool}'.{suggestion}")));
        };
        if let Some((_, reason)) = listed.quarantined.iter().find(|(held, _)| *held == *spec.name) {
            return Err(Fault::denied(format!(
                "tool '{tool}' of server '{server}' is quarantined: {reason}"
            ))
            .hint(format!("To review and approve it, run: gatehouse servers review {server}")));
        }
        let id = id(&spec.name);
        let cached_entry = lock(&self.cached).get(&id).cloned();
        let is_of = |entry: &Arc<ToolEntry>| {
            Arc::ptr_eq(&entry.declared, spec) && Arc::ptr_eq(&entry.source, &listed.source)
        };
        if let Some(entry) = cached_entry.filter(is_of) {
            return Ok(entry);
        }
        let entry = ToolEntry::from_listing(&self.preset, &listed.source, &listed.listing, spec, &NO_PARAMS)
            .map_err(|error| Fault::internal(error.to_string()))?
            .map(|mut entry| {
                let exposed_scope = self.approvals.get(&entry.id).copied();
                let own_scope = approval::required_scope(&self.preset, &entry);
                entry.approval = exposed_scope.into_iter().chain(own_scope).min();
                Arc::new(entry)
            })
            .ok_or_else(|| Fault::not_found(format!("server '{server}' has no tool '{tool}'")))?;
        let mut cache = lock(&self.cached);
        if cache.len() >= MAX_CACHED_ENTRIES {
            cache.clear();
        }
        cache.insert(id, Arc::clone(&entry));
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

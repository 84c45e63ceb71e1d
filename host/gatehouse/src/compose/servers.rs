//! The MCP servers of a host: those that `presets.toml` declares and those added at run time, and who may call them.
//! Starts and opens nothing; the `wire` crate connects to them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use gatehouse_core::{
    Catalog, CompiledPreset, Fault, Source,
    capability::Capability,
    lock,
    ports::{
        Clock, ServerRegistry as _, ToolIndex,
        servers::{ServerDefinition, ServerListing, ServerLogin, ServerTransport},
    },
    source::OmittedItems,
    tool::SourceId,
};
use gatehouse_files::make_private;
use gatehouse_wire::{
    downstream::{DownstreamServers, DownstreamSettings},
    login::{LoginSettings, LoginTargets, Logins},
};
use serde_json::{Value, json};

use super::Composition;
use crate::config::{
    Config, Env, ServerConfig,
    added::{self, FileServerStore},
};

/// The servers of a host. They survive reloads: a server with an unchanged definition keeps its connection.
pub(crate) struct HostServers {
    pub(crate) live: Arc<DownstreamServers>,
    added: Arc<FileServerStore>,
    /// Definitions applied last.
    applied: Mutex<Vec<ServerDefinition>>,
    /// Problems of added servers that were logged last.
    problems: Mutex<Vec<String>>,
}

impl HostServers {
    pub(super) fn new(
        config: &Arc<Config>,
        env: &Env,
        index: Arc<dyn ToolIndex>,
        clock: Arc<dyn Clock>,
        logins: Arc<Logins>,
    ) -> Self {
        let here = || std::path::absolute(".").unwrap_or_else(|_| PathBuf::from("/"));
        let settings = DownstreamSettings {
            program: std::env::current_exe().unwrap_or_else(|_| PathBuf::from("gatehouse")),
            base: config.file.as_deref().and_then(Path::parent).map_or_else(here, Path::to_path_buf),
            inherited: Env::inherited(),
            connection_timeout: config.servers.proxy.connection_timeout,
            retries: config.servers.proxy.retries,
        };
        let added = Arc::new(FileServerStore::new(Arc::clone(config), env.clone()));
        let live = DownstreamServers::new(settings, index, clock, Some(Arc::clone(&added) as _), logins);
        let servers =
            Self { live: Arc::new(live), added, applied: Mutex::default(), problems: Mutex::default() };
        servers.refresh();
        servers
    }

    /// Switches to the servers of this configuration.
    pub(crate) fn follow(&self, config: &Arc<Config>) {
        self.added.follow(config);
        self.refresh();
    }

    /// Applies the current servers. Other hosts and commands can add some at any time. Blocking.
    pub(crate) fn refresh(&self) {
        let now = self.added.snapshot();
        let mut problems = lock(&self.problems);
        if *problems != now.problems {
            now.problems.iter().for_each(|problem| tracing::warn!("{problem}"));
            *problems = now.problems;
        }
        let config = self.added.config();
        let added = now.servers.into_values().filter(|server| server.enabled).map(|server| server.definition);
        let mut definitions: Vec<ServerDefinition> = config.servers.enabled().cloned().chain(added).collect();
        let place = |server: &ServerDefinition| config.servers.position(&server.name);
        definitions.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.name.cmp(&b.name)));
        let mut applied = lock(&self.applied);
        if *applied != definitions {
            self.live.apply(definitions.clone());
            *applied = definitions;
        }
    }

    /// Returns the definitions in use.
    pub(super) fn definitions(&self) -> Vec<ServerDefinition> {
        lock(&self.applied).clone()
    }

    /// Returns the status of each server as JSON. Starts none.
    pub(crate) fn status(&self) -> Vec<Value> {
        self.live.status().into_iter().map(|server| json!(server)).collect()
    }

    /// Creates the directory that hosts watch, because a missing directory cannot be watched. Blocking.
    pub(crate) fn make_folder(config: &Config) {
        let folder = Self::folder(config);
        if let Err(error) = make_private(&folder) {
            tracing::info!(folder = %folder.display(), %error, "added servers are noticed within 30 s instead of immediately");
        }
    }

    /// Returns the directory that changes when servers are added.
    pub(crate) fn folder(config: &Config) -> PathBuf {
        added::folder(&config.state)
    }
}

impl LoginTargets for HostServers {
    fn login_target(&self, server: &str) -> Option<(String, LoginSettings)> {
        let config = self.added.config();
        let server = config.servers.declared.get(server).filter(|server| server.enabled)?;
        match &server.definition.transport {
            ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. }
                if server.definition.login == ServerLogin::Caller && server.definition.missing.is_empty() =>
            {
                Some((url.clone(), server.login.clone()))
            }
            _ => None,
        }
    }
}

/// A configured server with its indexed tools.
pub(crate) struct KnownServer {
    pub(crate) config: ServerConfig,
    /// Tools that it listed last. `None` if it was never listed.
    pub(crate) listing: Option<ServerListing>,
}

impl KnownServer {
    /// Returns the names that clients see for its tools, before overrides by presets.
    pub(crate) fn exposed_names(&self) -> Vec<String> {
        let Some(listed) = &self.listing else { return Vec::new() };
        let names = listed.listing.tools.iter().map(|tool| listed.source.id().exposed_name(&tool.name));
        names.flatten().map(|name| name.to_string()).collect()
    }
}

impl Composition {
    /// Returns every configured server by name, including disabled ones.
    pub(crate) async fn known_servers(&self) -> Result<BTreeMap<String, KnownServer>, Fault> {
        let configured = tokio::task::block_in_place(|| self.stores.servers.added.configured());
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
        let is_granted = |source: &SourceId| matches!(source, SourceId::Gate(gate) if granted.iter().any(|name| **name == **gate));
        let entries: Vec<_> = catalog.entries().iter().filter(|entry| is_granted(&entry.id.source)).collect();
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

//! The MCP servers of a host: those that `presets.toml` declares and those added at run time. Starts and opens nothing;
//! the `wire` crate connects to them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use gatehouse_core::{
    Source, lock,
    ports::{Clock, ServerRegistry as _, ToolIndex, servers::ServerDefinition},
};
use gatehouse_files::{Durability, make_private, write_private};
use gatehouse_wire::{
    downstream::{DownstreamServers, DownstreamSettings},
    login::Logins,
};
use serde_json::{Value, json};
use tokio::sync::watch;

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
            now.problems.iter().for_each(|why| tracing::warn!("{why}"));
            *problems = now.problems;
        }
        let config = self.added.config();
        let added = now.servers.into_values().filter(|server| server.enabled).map(|server| server.definition);
        let mut wanted: Vec<ServerDefinition> = config.servers.enabled().cloned().chain(added).collect();
        let place = |server: &ServerDefinition| config.servers.position(&server.name);
        wanted.sort_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.name.cmp(&b.name)));
        let mut applied = lock(&self.applied);
        if *applied != wanted {
            self.live.apply(wanted.clone());
            *applied = wanted;
        }
    }

    pub(super) fn source(&self, name: &str) -> Result<Arc<dyn Source>, String> {
        self.live.source(name).ok_or_else(|| format!("there is no server '{name}'"))
    }

    /// Returns every declared and added server, including disabled ones. Blocking.
    pub(super) fn configured(&self) -> BTreeMap<String, ServerConfig> {
        self.added.configured()
    }

    /// Returns the status of each server as JSON. Starts none.
    pub(crate) fn status(&self) -> Vec<Value> {
        self.live.status().into_iter().map(|server| json!(server)).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.live.changes()
    }

    /// Creates the directory that hosts watch if there are servers, because a missing directory cannot be watched.
    /// Blocking.
    pub(crate) fn make_folder(config: &Config) {
        if config.servers.enabled().next().is_some()
            && let Err(error) = make_private(&Self::folder(config))
        {
            let folder = Self::folder(config);
            tracing::warn!(folder = %folder.display(), %error, "approved tools are noticed within 30 s instead of \
            immediately");
        }
    }

    /// Notifies running hosts that tools were approved. Blocking.
    pub(crate) fn notify_hosts(config: &Config) -> std::io::Result<()> {
        let folder = Self::folder(config);
        make_private(&folder)?;
        write_private(&folder.join("reviewed"), b"", Durability::Unsynced)
    }

    /// Returns the directory that changes when servers are added or tools are approved.
    pub(crate) fn folder(config: &Config) -> PathBuf {
        added::folder(&config.state)
    }
}

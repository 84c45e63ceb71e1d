//! The MCP servers of a host: what presets.toml declares and what was added beside it, put together and handed to the crate
//! that speaks to them. Nothing is started, opened or waited for here.

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

/// The servers of a host. They outlive a reload: one whose definition is as it was keeps its connection.
pub(crate) struct HostServers {
    /// What speaks to them.
    pub(crate) live: Arc<DownstreamServers>,
    added: Arc<FileServerStore>,
    /// What was handed over last.
    applied: Mutex<Vec<ServerDefinition>>,
    /// What was said of added servers that do not count.
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

    /// From now on the servers are those of this configuration, and those that were added.
    pub(crate) fn follow(&self, config: &Arc<Config>) {
        self.added.follow(config);
        self.refresh();
    }

    /// Looks which servers there are: other hosts and commands add some, too. Reads a small file where there is one.
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

    /// The source of a server's tools.
    pub(super) fn source(&self, name: &str) -> Result<Arc<dyn Source>, String> {
        self.live.source(name).ok_or_else(|| format!("there is no server '{name}'"))
    }

    /// Every server of presets.toml and those that were added, disabled ones included. Blocking.
    pub(super) fn configured(&self) -> BTreeMap<String, ServerConfig> {
        let mut all = self.added.snapshot().servers;
        all.extend(self.added.config().servers.declared.clone());
        all
    }

    /// How they do, as JSON; starts none.
    pub(crate) fn status(&self) -> Vec<Value> {
        self.live.status().into_iter().map(|server| json!(server)).collect()
    }

    /// Counts changes of what servers list.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.live.changes()
    }

    /// Makes the folder that hosts watch, where there are servers: what is not there cannot be watched. Blocking.
    pub(crate) fn make_folder(config: &Config) {
        if config.servers.enabled().next().is_some()
            && let Err(error) = make_private(&Self::folder(config))
        {
            let folder = Self::folder(config);
            tracing::warn!(folder = %folder.display(), %error, "approved tools are seen within 30 s, not at once");
        }
    }

    /// Has running hosts look at once which tools were approved. Blocking.
    pub(crate) fn wake_hosts(config: &Config) -> std::io::Result<()> {
        let folder = Self::folder(config);
        make_private(&folder)?;
        write_private(&folder.join("reviewed"), b"", Durability::Unsynced)
    }

    /// The folder that tells of servers that are added, and of tools that were approved.
    pub(crate) fn folder(config: &Config) -> PathBuf {
        added::folder(&config.state)
    }
}

//! Files in the data directory that describe the running hosts, for `gatehouse status`: one JSON file per host and a
//! lock file, whose lock the operating system releases when the host ends for any reason.

use std::{
    fmt,
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use gatehouse_core::ports::Clock as _;
use gatehouse_files::{Durability, make_private, write_private};
use gatehouse_stores::LedgerHealth;
use gatehouse_wire::serve::{ClientInfo, ServedPresets};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;

use crate::{
    compose::{HostServers, SystemClock},
    config::Config,
    reload::ReloadHealth,
};

/// Time in which changes are collected before they are written.
const WRITE_DELAY: Duration = Duration::from_millis(200);

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const IDLE_POLL_INTERVAL: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HostFacts {
    pub(crate) pid: u32,
    pub(crate) started_at: u64,
    pub(crate) version: String,
    /// `None` for the built-in configuration.
    pub(crate) config: Option<PathBuf>,
    /// Preset for clients that name none.
    pub(crate) preset: String,
    /// `None` for stdio.
    pub(crate) address: Option<SocketAddr>,
    #[serde(skip)]
    folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunningHost {
    #[serde(flatten)]
    pub(crate) facts: HostFacts,
    pub(crate) health: ReloadHealth,
    pub(crate) clients: Vec<ClientInfo>,
    /// State of the servers, as this host sees them.
    #[serde(default)]
    pub(crate) servers: Vec<Value>,
    /// State of the ledger.
    #[serde(default)]
    pub(crate) ledger: LedgerHealth,
}

impl HostFacts {
    fn config_name(&self) -> String {
        self.config.as_ref().map_or("the built-in presets".into(), |file| file.display().to_string())
    }

    pub(crate) fn new(config: &Config, preset: &str, address: Option<SocketAddr>) -> Self {
        Self {
            pid: std::process::id(),
            started_at: SystemClock.now_ms(),
            version: env!("CARGO_PKG_VERSION").into(),
            config: config.file.clone(),
            preset: preset.into(),
            address,
            folder: folder(&config.state),
        }
    }
}

impl RunningHost {
    /// Returns a warning if the host uses another configuration than `config`, so that edits there do not reach it.
    pub(crate) fn other_config(&self, config: &Config) -> Option<String> {
        let HostFacts { pid, config: own, .. } = &self.facts;
        let edited = config.file.as_deref().filter(|file| own.as_deref() != Some(*file))?.display();
        Some(format!(
            "the host of process {pid} uses {}, so edits of {edited} do not reach it; restart it, or name that file with \
             --config",
            self.facts.config_name()
        ))
    }
}

impl fmt::Display for RunningHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostFacts { pid, preset, address, .. } = &self.facts;
        let place = address.map_or("stdio".into(), |address| format!("http://{address}/mcp"));
        write!(f, "host       process {pid}: preset {preset} over {place}, {}", self.facts.config_name())?;
        let ReloadHealth { configuration, gates, restart, .. } = &self.health;
        if let Some(reason) = configuration {
            write!(f, "\n           the last change of presets.toml is not applied: {reason}")?;
        }
        if let Some(keys) = restart {
            write!(f, "\n           takes effect at the next start: {keys}")?;
        }
        gates.iter().try_for_each(|(gate, reason)| write!(f, "\n           gate {gate}: {reason}"))?;
        let failed = self.servers.iter().filter(|server| server["state"] == "failed");
        failed.into_iter().try_for_each(|server| {
            let text = |key: &str| server[key].as_str().unwrap_or_default();
            write!(f, "\n           server {}: {}", text("name"), text("last_error"))
        })?;
        if let Some(reason) = &self.ledger.trouble {
            write!(f, "\n           calls are not recorded: {reason}")?;
        }
        if self.ledger.lost > 0 {
            write!(f, "\n           {} calls are missing from the ledger", self.ledger.lost)?;
        }
        self.clients.iter().try_for_each(|client| {
            let state = match (client.told_at, client.up_to_date) {
                (None, _) => "has the tools that it listed",
                (Some(_), true) => "was notified of new tools and listed them",
                (Some(_), false) => "was notified of new tools and has not listed them",
            };
            let ClientInfo { name, version, protocol, .. } = client;
            write!(f, "\n  client   {name} {version} ({protocol}): {state}")
        })
    }
}

fn folder(state: &Path) -> PathBuf {
    state.join("hosts")
}

/// The two files of this process. They are removed when the process ends normally, else by the next reader.
struct PresenceFiles {
    _lock: File,
    lock: PathBuf,
    json: PathBuf,
}

impl PresenceFiles {
    fn make(folder: &Path, pid: u32) -> std::io::Result<Self> {
        // This can be the first code that needs the data directory.
        make_private(folder)?;
        // Hosts in different containers can have the same process id, so the name also contains a random part.
        let (file, making) = tempfile::NamedTempFile::new_in(folder)?.keep()?;
        file.lock()?;
        let unique = making.file_name().unwrap_or_default().to_string_lossy().replace('.', "");
        let lock = folder.join(format!("{pid}-{unique}.lock"));
        // The file gets its final name only when it is locked, so no reader takes it for a leftover.
        fs::rename(&making, &lock)?;
        Ok(Self { _lock: file, json: lock.with_extension("json"), lock })
    }

    fn write(&self, host: &RunningHost) -> std::io::Result<()> {
        write_private(&self.json, &serde_json::to_vec(host)?, Durability::Unsynced)
    }
}

impl Drop for PresenceFiles {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.json);
        let _ = fs::remove_file(&self.lock);
    }
}

pub(crate) async fn announce(
    facts: HostFacts,
    presets: Arc<ServedPresets>,
    mut health: watch::Receiver<ReloadHealth>,
    servers: Arc<HostServers>,
    mut ledger: watch::Receiver<LedgerHealth>,
) {
    let mut client_changes = presets.client_changes();
    let (folder, pid) = (facts.folder.clone(), facts.pid);
    let Ok(created) = tokio::task::spawn_blocking(move || PresenceFiles::make(&folder, pid)).await else {
        return;
    };
    let files = match created {
        Ok(files) => files,
        Err(error) => return tracing::debug!(%error, "`gatehouse status` will not see this host"),
    };
    loop {
        client_changes.borrow_and_update();
        let host = RunningHost {
            facts: facts.clone(),
            health: health.borrow_and_update().clone(),
            clients: presets.clients(),
            servers: servers.status(),
            ledger: ledger.borrow_and_update().clone(),
        };
        if let Err(error) = tokio::task::block_in_place(|| files.write(&host)) {
            tracing::debug!(%error, "`gatehouse status` will not see the latest of this host");
        }
        let is_closed = tokio::select! {
            changed = health.changed() => changed.is_err(),
            changed = client_changes.changed() => changed.is_err(),
            Ok(()) = ledger.changed() => false,
            () = wait_for_change(&servers, &host.servers) => false,
        };
        if is_closed {
            return;
        }
        tokio::time::sleep(WRITE_DELAY).await;
    }
}

/// Waits until the state of the servers differs from `before`. A host without servers polls rarely.
async fn wait_for_change(servers: &HostServers, before: &[Value]) {
    loop {
        tokio::time::sleep(if before.is_empty() { IDLE_POLL_INTERVAL } else { POLL_INTERVAL }).await;
        if servers.status() != before {
            return;
        }
    }
}

/// Returns the hosts that use this data directory, by process id. Blocks.
pub(crate) fn running(state: &Path) -> Vec<RunningHost> {
    let entries = fs::read_dir(folder(state)).into_iter().flatten().flatten().map(|entry| entry.path());
    let locks = entries.filter(|path| path.extension().is_some_and(|extension| extension == "lock"));
    let mut hosts: Vec<RunningHost> = locks.filter_map(|lock| running_host(&lock)).collect();
    hosts.sort_by_key(|host| host.facts.pid);
    hosts
}

fn running_host(lock: &Path) -> Option<RunningHost> {
    let file = lock.with_extension("json");
    if File::open(lock).ok()?.try_lock().is_ok() {
        // The lock is free, so a host that was killed left these files.
        let _ = fs::remove_file(&file);
        let _ = fs::remove_file(lock);
        return None;
    }
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

//! Control sockets of the running hosts, one for each in the data directory. Commands of the same user ask there what a
//! host serves, and make it read its files again.
//!
//! A connection carries one request and its reply, each a line of JSON.

mod client;
mod socket;

use std::{fmt, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use gatehouse_core::{
    names::quoted,
    pipeline::{AnswerEffect, ApprovalQueue, ApprovalRequest},
    ports::Clock as _,
};
use gatehouse_stores::LedgerHealth;
use gatehouse_wire::serve::{ClientInfo, ServedPresets};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    sync::{Semaphore, mpsc, oneshot, watch},
    time::timeout,
};

pub(crate) use self::client::{answer, reconnect, reload, running, running_now, tell_hosts};
use self::socket::ControlSocket;
use crate::{
    compose::{HostServers, SystemClock},
    config::Config,
    reload::ReloadHealth,
};

const MAX_CONNECTIONS: usize = 16;

const MAX_REQUEST_BYTES: u64 = 64 * 1024;

/// Time for a request to arrive, and for its reply to leave.
const IO_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for a host to read its files. It describes changed gates first.
const RELOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Time for a server to start before a page says so.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "request", rename_all = "kebab-case")]
enum ControlRequest {
    /// Asks for a [`RunningHost`].
    Status,
    /// Makes the host read its files again, and asks for the [`RunningHost`] afterwards.
    Reload,
    /// Answers an [`ApprovalRequest`], and asks for the [`AnswerEffect`].
    Answer { id: String, allow: bool },
    /// Connects to a server again, and asks for the reason if that fails.
    Reconnect { server: String },
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
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
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct RunningHost {
    #[serde(flatten)]
    pub(crate) facts: HostFacts,
    pub(crate) health: ReloadHealth,
    pub(crate) clients: Vec<ClientInfo>,
    /// State of the servers, as this host sees them.
    pub(crate) servers: Vec<Value>,
    /// State of the ledger.
    pub(crate) ledger: LedgerHealth,
    /// Calls that wait for an approval, oldest first.
    pub(crate) approvals: Vec<ApprovalRequest>,
    /// Reason that a host that runs does not answer. Only its process id is known then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) silent: Option<String>,
}

impl HostFacts {
    pub(crate) fn config_name(&self) -> String {
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
        }
    }
}

impl RunningHost {
    /// Returns a warning if the host uses another configuration than `config`, so that edits there do not reach it.
    pub(crate) fn other_config(&self, config: &Config) -> Option<String> {
        let HostFacts { pid, config: own, .. } = &self.facts;
        let edited = config.file.as_deref().filter(|file| own.as_deref() != Some(*file))?.display();
        self.silent.is_none().then(|| {
            format!(
                "the host of process {pid} uses {}, so edits of {edited} do not reach it; restart it, or name that file \
                 with --config",
                self.facts.config_name()
            )
        })
    }
}

impl RunningHost {
    /// Returns what does not work, a sentence each.
    pub(crate) fn troubles(&self) -> Vec<String> {
        if let Some(reason) = &self.silent {
            return vec![reason.clone()];
        }
        let ReloadHealth { configuration, gates, restart, .. } = &self.health;
        let mut troubles = Vec::new();
        if let Some(reason) = configuration {
            troubles.push(format!("the last change of presets.toml is not applied: {reason}"));
        }
        if let Some(keys) = restart {
            troubles.push(format!("takes effect at the next start: {keys}"));
        }
        troubles.extend(gates.iter().map(|(gate, reason)| format!("gate {gate}: {reason}")));
        let failed = self.servers.iter().filter(|server| server["state"] == "failed");
        troubles.extend(failed.map(|server| {
            let text = |key: &str| server[key].as_str().unwrap_or_default();
            format!("server {}: {}", text("name"), text("last_error"))
        }));
        if let Some(reason) = &self.ledger.trouble {
            troubles.push(format!("calls are not recorded: {reason}"));
        }
        if self.ledger.lost > 0 {
            troubles.push(format!("{} calls are missing from the ledger", self.ledger.lost));
        }
        troubles
    }
}

impl fmt::Display for RunningHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let HostFacts { pid, preset, address, .. } = &self.facts;
        if let Some(reason) = &self.silent {
            return write!(f, "host       process {pid}: {reason}");
        }
        let place = address.map_or("stdio".into(), |address| format!("http://{address}/mcp"));
        write!(f, "host       process {pid}: preset {preset} over {place}, {}", self.facts.config_name())?;
        self.troubles().iter().try_for_each(|trouble| write!(f, "\n           {trouble}"))?;
        for ApprovalRequest { tool, waiting_seconds, .. } in &self.approvals {
            let tool = quoted(tool, 64);
            write!(
                f,
                "\n           '{tool}' waits for an approval since {waiting_seconds} s: run `gatehouse approve`"
            )?;
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

/// Asks the reloader to read the files of the host. The reply is sent once it has.
pub(crate) type ReloadRequest = oneshot::Sender<()>;

/// The host, as its socket describes it.
pub(crate) struct ControlledHost {
    pub(crate) facts: HostFacts,
    pub(crate) presets: Arc<ServedPresets>,
    pub(crate) health: watch::Receiver<ReloadHealth>,
    pub(crate) servers: Arc<HostServers>,
    pub(crate) ledger: watch::Receiver<LedgerHealth>,
    pub(crate) reloads: mpsc::Sender<ReloadRequest>,
    pub(crate) approvals: Arc<ApprovalQueue>,
}

impl ControlledHost {
    /// Answers requests on a socket in the data directory, which is removed when this is dropped.
    pub(crate) async fn serve(self, state: PathBuf) {
        let pid = self.facts.pid;
        let bound = tokio::task::spawn_blocking(move || ControlSocket::bind(&state, pid)).await;
        let socket = match bound {
            Ok(Ok(socket)) => socket,
            Ok(Err(error)) => {
                return tracing::warn!(
                    "cannot open a control socket in the data directory: {error}. `gatehouse status` does not see this \
                     host"
                );
            }
            Err(_) => return,
        };
        self.approvals.set_open(true);
        let (host, permits) = (Arc::new(self), Arc::new(Semaphore::new(MAX_CONNECTIONS)));
        while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
            let Some(stream) = socket.accept().await else { continue };
            let host = Arc::clone(&host);
            tokio::spawn(async move {
                let _permit = permit;
                if let Err(error) = host.answer(stream).await {
                    tracing::debug!(%error, "a request on the control socket failed");
                }
            });
        }
    }

    async fn answer(&self, mut stream: UnixStream) -> std::io::Result<()> {
        let mut line = String::new();
        let (from, mut to) = stream.split();
        let mut from = BufReader::new(from.take(MAX_REQUEST_BYTES));
        timeout(IO_TIMEOUT, from.read_line(&mut line)).await??;
        let mut reply = match serde_json::from_str(&line) {
            Ok(request) => self.reply(request).await,
            // A command of another version asks for something else.
            Err(error) => self.describe(Some(format!("does not know the request of this command: {error}"))),
        }
        .to_string();
        reply.push('\n');
        timeout(IO_TIMEOUT, to.write_all(reply.as_bytes())).await?
    }

    async fn reply(&self, request: ControlRequest) -> Value {
        let silent = match request {
            ControlRequest::Answer { id, allow } => return json!(self.approvals.answer(&id, allow)),
            ControlRequest::Reconnect { server } => return json!(self.reconnect(server).await),
            ControlRequest::Status => None,
            ControlRequest::Reload => match timeout(RELOAD_TIMEOUT, self.reload()).await {
                Ok(true) => None,
                Ok(false) => Some("does not read its files any more; restart it".to_owned()),
                Err(_) => Some(format!("has not read its files within {} s", RELOAD_TIMEOUT.as_secs())),
            },
        };
        self.describe(silent)
    }

    /// Makes the reloader read the files. Returns false if it has ended.
    async fn reload(&self) -> bool {
        let (done, read) = oneshot::channel();
        self.reloads.send(done).await.is_ok() && read.await.is_ok()
    }

    /// Returns the reason if the server cannot be reached.
    async fn reconnect(&self, server: String) -> Option<String> {
        let servers = Arc::clone(&self.servers);
        // Goes on if starting the program takes longer.
        let connecting = tokio::spawn(async move { servers.live.reconnect(&server).await });
        match timeout(RECONNECT_TIMEOUT, connecting).await {
            Ok(Ok(connected)) => connected.err().map(|fault| fault.in_one_line()),
            Ok(Err(panicked)) => Some(panicked.to_string()),
            Err(_) => {
                Some(format!("it has not started within {} s, and still tries", RECONNECT_TIMEOUT.as_secs()))
            }
        }
    }

    fn describe(&self, silent: Option<String>) -> Value {
        json!(RunningHost {
            facts: self.facts.clone(),
            health: self.health.borrow().clone(),
            clients: self.presets.clients(),
            servers: self.servers.status(),
            ledger: self.ledger.borrow().clone(),
            approvals: self.approvals.requests(),
            silent,
        })
    }
}

#[cfg(test)]
mod tests;

//! MCP servers behind this host, each a [`Source`] of tools. A server starts on first use, with the protocol version
//! that it supports, and ends with the host.

mod breaker;
mod connect;
mod connection;
pub(crate) mod convert;
mod http;
mod peer;
mod pipes;
mod process;
mod server;
mod server_log;
mod session;
mod sse;
#[cfg(test)]
pub(crate) mod testing;
mod tool_meta;
mod uri_mapper;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use gatehouse_core::{
    Fault, Principal, Source, ToolId, ToolSpec, lock, names,
    ports::{
        Clock, ServerRegistry, ToolIndex,
        servers::{
            RefreshReport, ServerDefinition, ServerDefinitionStore, ServerListing, ServerLogin, ServerStatus,
            UnlistedServer,
        },
    },
};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

pub use process::{InheritedEnv, SUPERVISE, WithheldVariable, supervise};

use crate::{ConnectedClients, login::Logins};
use connect::RealConnector;
use server::{AfterListing, DownstreamServer, ServerContext};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownstreamSettings {
    /// Path of this program, which also runs as [`supervise`].
    pub program: PathBuf,
    /// Base of relative program paths, and working directory of servers that configure none.
    pub base: PathBuf,
    pub inherited: InheritedEnv,
    /// Maximum time of an attempt to connect. `None`: 2 min for programs, which may download the server, else 30 s.
    pub connection_timeout: Option<Duration>,
    /// Attempts after the first one.
    pub retries: u32,
}

pub struct DownstreamServers {
    shared: Arc<ServerContext>,
    servers: Mutex<BTreeMap<Arc<str>, Arc<DownstreamServer>>>,
    added: Option<Arc<dyn ServerDefinitionStore>>,
}

impl DownstreamServers {
    /// Creates an empty registry. `added` stores servers that are added at runtime; if it is `None`, adding fails.
    pub fn new(
        settings: DownstreamSettings,
        index: Arc<dyn ToolIndex>,
        clock: Arc<dyn Clock>,
        added: Option<Arc<dyn ServerDefinitionStore>>,
        logins: Arc<Logins>,
    ) -> Self {
        let shared = ServerContext {
            connection_timeout: settings.connection_timeout,
            retries: settings.retries,
            connector: Arc::new(RealConnector::new(settings, Arc::clone(&logins))),
            logins,
            index,
            clock,
            changes: watch::Sender::new(0),
            connected_clients: Arc::default(),
            shown_generation: Mutex::default(),
            runtime: tokio::runtime::Handle::try_current().ok(),
        };
        Self { shared: Arc::new(shared), servers: Mutex::default(), added }
    }

    /// Replaces all servers, in the order of the configuration. A server with an unchanged definition keeps its
    /// connection; the others are closed.
    pub fn apply(&self, definitions: Vec<ServerDefinition>) {
        let mut removed_servers = Vec::new();
        let is_news;
        {
            let mut servers = lock(&self.servers);
            let mut before = std::mem::take(&mut *servers);
            // The first servers arrive before any catalog exists.
            is_news = !before.is_empty();
            for (place, definition) in definitions.into_iter().enumerate() {
                let name = Arc::clone(&definition.name);
                let server = match before.remove(&name) {
                    Some(server) if server.definition == definition => server,
                    other => {
                        removed_servers.extend(other);
                        DownstreamServer::new(definition, Arc::clone(&self.shared))
                    }
                };
                server.place.store(place, Ordering::Relaxed);
                servers.insert(name, server);
            }
            removed_servers.extend(before.into_values());
        }
        // Catalogs may contain removed servers and miss new ones.
        if is_news {
            self.shared.changes.send_modify(|changes| *changes += 1);
        }
        if let (false, Ok(runtime)) = (removed_servers.is_empty(), tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { join_all(removed_servers.iter().map(|server| server.close())).await });
        }
    }

    /// Returns the record of what clients declare, which decides what servers are offered.
    pub fn connected_clients(&self) -> Arc<ConnectedClients> {
        Arc::clone(&self.shared.connected_clients)
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Counts changes by other processes, such as an approved tool. Reads nothing if no client is shown server tools.
    pub async fn check_for_changes(&self) -> Result<(), Fault> {
        self.shared.check_for_changes().await
    }

    pub fn preconnect(&self) {
        let is_preconnected =
            |server: &ServerDefinition| server.preconnect && server.login == ServerLogin::Shared;
        for server in self.all().into_iter().filter(|server| is_preconnected(&server.definition)) {
            tokio::spawn(async move {
                if let Err(fault) = server.connection().await {
                    tracing::warn!(source = %server.id(), "not connected at start: {}", fault.in_one_line());
                }
            });
        }
    }

    /// Starts to list the `wanted` servers that were never listed, and retries as long as the returned tokens are held.
    pub async fn ask_unlisted(&self, wanted: impl Fn(&ServerStatus) -> bool) -> Vec<Arc<()>> {
        let mut tokens = Vec::new();
        for server in self.all() {
            if wanted(&server.status()) && server.can_be_listed_first().await {
                tokens.push(server.first_listing(AfterListing::Stop).wanted);
            }
        }
        tokens
    }

    /// Treats servers as ones whose first listing failed for the given reasons, so that nothing starts them for a listing
    /// as long as the returned tokens are held.
    pub fn hold_back(&self, failures: &[(Arc<str>, String)]) -> Vec<Arc<()>> {
        let held =
            failures.iter().filter_map(|(name, reason)| Some(self.server(name).ok()?.hold_back(reason)));
        held.collect()
    }

    pub async fn close(&self) {
        let servers = std::mem::take(&mut *lock(&self.servers));
        join_all(servers.values().map(|server| server.close())).await;
    }

    fn server(&self, name: &str) -> Result<Arc<DownstreamServer>, Fault> {
        let servers = lock(&self.servers);
        servers.get(name).cloned().ok_or_else(|| {
            let suggestion = names::did_you_mean(name, servers.keys().map(|name| &**name));
            Fault::not_found(format!("unknown server '{}'.{suggestion}", names::quoted(name, 64)))
                .hint("Call list_mcp_servers to see all servers.")
        })
    }

    fn all(&self) -> Vec<Arc<DownstreamServer>> {
        lock(&self.servers).values().cloned().collect()
    }

    fn adding(&self) -> Result<&Arc<dyn ServerDefinitionStore>, Fault> {
        self.added.as_ref().ok_or_else(|| Fault::denied("this host does not allow changes to its servers"))
    }
}

#[async_trait]
impl ServerRegistry for DownstreamServers {
    fn status(&self) -> Vec<ServerStatus> {
        self.all().iter().map(|server| server.status()).collect()
    }

    fn source(&self, server: &str) -> Option<Arc<dyn Source>> {
        self.server(server).ok().map(|server| server as _)
    }

    async fn listing(&self, server: &str, caller: &Principal) -> Result<ServerListing, Fault> {
        self.server(server)?.listing(caller).await
    }

    async fn known(&self, server: &str) -> Result<Option<ServerListing>, Fault> {
        self.server(server)?.known().await
    }

    async fn first_listings(
        &self,
        servers: &[Arc<str>],
        patience: Duration,
        caller: &Principal,
    ) -> Vec<UnlistedServer> {
        let servers = servers.iter().filter_map(|name| self.server(name).ok());
        let checks = servers.map(|server| async move {
            // Its hint is for operators.
            let reason = |fault: Fault| Some(fault.message);
            let listed = async {
                if !server.definition.missing.is_empty() {
                    return Err(Some("variables not set".to_owned()));
                }
                let caller_server = server.signed_in(caller).await.map_err(reason)?;
                let pending = caller_server.first_listing(AfterListing::Stop);
                // Do not wait longer for a server that other clients have already waited for.
                let until = pending.until.ok_or(Some(pending.reason))?.min(Instant::now() + patience);
                let listed = tokio::time::timeout_at(until, caller_server.wait_until_listed()).await;
                listed.map_err(|_| None)?.map_err(reason)
            };
            let failure = listed.await.err()?;
            Some(UnlistedServer { name: Arc::clone(&server.definition.name), failure })
        });
        join_all(checks).await.into_iter().flatten().collect()
    }

    fn describe_tool(&self, tool: &ToolId, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        match self.server(tool.source.name()) {
            Ok(server) => server.described_tool(spec),
            Err(_) => Arc::clone(spec),
        }
    }

    async fn probe(&self, server: &str, caller: &Principal) -> Result<(), Fault> {
        self.server(server)?.signed_in(caller).await?.wait_until_listed().await
    }

    async fn refresh(
        &self,
        server: Option<&str>,
        force: bool,
        caller: &Principal,
    ) -> Result<RefreshReport, Fault> {
        if let Some(server) = server {
            return self.server(server)?.signed_in(caller).await?.refresh(force).await;
        }
        let refreshes = join_all(self.all().into_iter().map(|server| async move {
            let report = async { server.signed_in(caller).await?.refresh(force).await };
            (server.definition.name.to_string(), report.await)
        }));
        let mut combined_report = RefreshReport::default();
        for (name, report) in refreshes.await {
            match report {
                Ok(report) => combined_report.add(report),
                Err(fault) => combined_report.failed.push((name, fault.in_one_line())),
            }
        }
        Ok(combined_report)
    }

    async fn change(
        &self,
        server: &str,
        definition: &Map<String, Value>,
    ) -> Result<Result<ServerListing, Fault>, Fault> {
        let definition = self.adding()?.add(server, definition).await?;
        let server = DownstreamServer::new(definition, Arc::clone(&self.shared));
        let before = lock(&self.servers).get(&server.definition.name).cloned();
        if before.is_none_or(|before| before.definition.transport != server.definition.transport) {
            // What a person declared was about another program, so no call may reach this one with it.
            self.shared.index.drop_declared_effects(&server.definition.name).await?;
        }
        let before = lock(&self.servers).insert(Arc::clone(&server.definition.name), Arc::clone(&server));
        join_all(before.iter().map(|before| before.close())).await;
        self.shared.changes.send_modify(|changes| *changes += 1);
        Ok(server.listing(&Principal::Local).await)
    }

    async fn remove(&self, server: &str) -> Result<bool, Fault> {
        if !self.adding()?.remove(server).await? {
            return Ok(false);
        }
        let before = lock(&self.servers).remove(server);
        join_all(before.iter().map(|before| before.close())).await;
        self.shared.index.forget(server).await?;
        self.shared.changes.send_modify(|changes| *changes += 1);
        Ok(true)
    }
}

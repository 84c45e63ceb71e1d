//! The MCP servers behind this host: their definitions, states and listings.
//!
//! [`crate::server_tools`] decides which of their tools a preset exposes.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Fault, Listing, Principal, Source, ToolId, ToolSpec, http::Secret, ports::tool_index::ChangePolicy,
    source::OmittedItems, tool_policy::ToolPolicy,
};

/// A server definition from presets.toml, with environment variables expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerDefinition {
    pub name: Arc<str>,
    pub transport: ServerTransport,
    /// For display, for the `proxied` key of presets, and for the category of its tools.
    pub tags: Vec<String>,
    pub timeout: Duration,
    /// Maximum time of a call that reports progress.
    pub max_timeout: Duration,
    /// Maximum time of one attempt to connect. `None` for the value in `[proxy]`.
    pub connection_timeout: Option<Duration>,
    pub preconnect: bool,
    /// Idle time after which it is stopped. `None` for never.
    pub idle_timeout: Option<Duration>,
    pub on_change: ChangePolicy,
    pub login: ServerLogin,
    /// Policies of presets.toml for its tools, by the server's own names.
    pub tools: BTreeMap<String, ToolPolicy>,
    /// Variables that the definition uses but the environment lacks. The server cannot be connected until they are set.
    pub missing: Vec<String>,
    /// Values to redact from messages, logs and replies: all variables, and values under names that suggest a
    /// credential.
    pub secrets: Vec<Secret>,
}

/// Whose login to a server a call uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ServerLogin {
    /// One login for all callers.
    #[default]
    Shared,
    /// A login and a connection for each principal.
    Caller,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    Stdio {
        command: String,
        args: Vec<String>,
        /// The child's environment, in addition to `PATH`, `HOME` and the variables listed in docs/servers.md.
        env: Vec<(String, Secret)>,
        /// Absolute working directory. `None` for the host's.
        cwd: Option<PathBuf>,
    },
    Http {
        url: String,
        /// Headers of each request, sent to this URL only.
        headers: Vec<(String, Secret)>,
    },
    /// HTTP with server-sent events, for servers before 2025.
    Sse { url: String, headers: Vec<(String, Secret)> },
}

impl ServerTransport {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
        }
    }
}

/// A store for servers added while the host runs, next to presets.toml. Servers in presets.toml cannot be changed here.
#[async_trait]
pub trait ServerDefinitionStore: Send + Sync {
    /// Checks and stores a definition with the keys of `[servers.NAME]`.
    ///
    /// Fails with `invalid-arguments` and the key and allowed values, or with `denied` if presets.toml declares the
    /// server.
    async fn add(&self, server: &str, definition: &Map<String, Value>) -> Result<ServerDefinition, Fault>;

    /// Removes a definition. Returns false if it does not exist. Fails with `denied` if presets.toml declares the
    /// server.
    async fn remove(&self, server: &str) -> Result<bool, Fault>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    Configured,
    Connecting,
    Connected,
    /// Stopped after the idle timeout. The next call starts it again.
    Dormant,
    Failed,
}

/// State of the circuit breaker for connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CircuitState {
    Closed,
    Open,
    HalfOpen,
}

/// Status of a server. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    pub name: Arc<str>,
    /// Position in the configuration: presets.toml from 0, followed by added servers.
    #[serde(skip)]
    pub place: usize,
    pub transport: &'static str,
    pub tags: Vec<String>,
    pub state: ServerState,
    pub circuit: CircuitState,
    /// Milliseconds until an open circuit allows an attempt.
    pub recovery_in_ms: Option<u64>,
    pub connected_at: Option<u64>,
    pub last_error: Option<String>,
    /// When its listing last changed. `None` if it never did or is unknown.
    pub last_schema_change: Option<u64>,
    /// Last lines of its standard error, oldest first, without secrets.
    pub log: Vec<String>,
}

#[derive(Clone)]
pub struct ServerListing {
    /// Runs its tools. Starts the server if necessary.
    pub source: Arc<dyn Source>,
    pub listing: Arc<Listing>,
    /// Tools quarantined until their changes are reviewed: name and reason.
    pub quarantined: Arc<Vec<(String, String)>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlistedServer {
    pub name: Arc<str>,
    /// Error of the last attempt, in one line. `None` if the first one is still in progress.
    pub failure: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshReport {
    pub added: u32,
    pub updated: u32,
    pub removed: u32,
    pub unchanged: u32,
    pub embeddings: u32,
    pub failed: Vec<(String, String)>,
    /// Servers that are listed in part.
    #[serde(default, rename = "left_out")]
    pub omitted: Vec<(String, OmittedItems)>,
}

impl RefreshReport {
    /// Adds the report of another server.
    pub fn add(&mut self, other: Self) {
        self.added += other.added;
        self.updated += other.updated;
        self.removed += other.removed;
        self.unchanged += other.unchanged;
        self.embeddings += other.embeddings;
        self.failed.extend(other.failed);
        self.omitted.extend(other.omitted);
    }
}

#[async_trait]
pub trait ServerRegistry: Send + Sync {
    /// Returns the status of all enabled servers, by name. Neither starts a server nor waits.
    fn status(&self) -> Vec<ServerStatus>;

    /// Returns the source that runs a server's tools, started or not. `None` if there is no such server.
    fn source(&self, server: &str) -> Option<Arc<dyn Source>>;

    /// Returns a server's listing. Connects to the server, as the caller, if it is not known yet.
    ///
    /// Fails with `not-found` and similar names, or with a connection fault.
    async fn listing(&self, server: &str, caller: &Principal) -> Result<ServerListing, Fault>;

    /// Returns the known listing of a server, without starting it. `None` if it never listed anything.
    async fn known(&self, server: &str) -> Result<Option<ServerListing>, Fault>;

    /// Asks servers without a listing, as the caller, and waits for up to `patience`.
    ///
    /// Does not wait for servers whose last attempt failed. Returns the servers that have listed nothing yet.
    async fn first_listings(
        &self,
        servers: &[Arc<str>],
        patience: Duration,
        caller: &Principal,
    ) -> Vec<UnlistedServer>;

    /// Returns the tool as presets.toml describes it, for definitions that are not from [`ServerRegistry::listing`].
    fn describe_tool(&self, _: &ToolId, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        Arc::clone(spec)
    }

    /// Lists a server over a temporary connection of the caller. Does nothing if its listing is known.
    ///
    /// Faults like [`ServerRegistry::listing`].
    async fn probe(&self, server: &str, caller: &Principal) -> Result<(), Fault>;

    /// Asks one server, or all, for new listings, as the caller.
    ///
    /// Failures are in the report, unless `server` is given. `force` also rewrites unchanged definitions.
    async fn refresh(
        &self,
        server: Option<&str>,
        force: bool,
        caller: &Principal,
    ) -> Result<RefreshReport, Fault>;

    /// Adds a server, or replaces one added before, and connects it.
    ///
    /// `definition` has the keys of `[servers.NAME]` in presets.toml. The inner result is that of connecting; if it is
    /// an error, the server stays configured.
    async fn change(
        &self,
        server: &str,
        definition: &Map<String, Value>,
    ) -> Result<Result<ServerListing, Fault>, Fault>;

    /// Stops and removes a server that [`ServerRegistry::change`] added. Returns false if it does not exist.
    async fn remove(&self, server: &str) -> Result<bool, Fault>;
}

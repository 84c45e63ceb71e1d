//! The MCP servers behind this host: which there are, how they do, and each as a source of tools. What a preset lets its
//! callers reach of them is not decided here; [`crate::proxied`] does that.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    http::Secret,
    outcome::Fault,
    ports::tool_index::ChangePolicy,
    source::{Listing, Source},
    tool::{ToolId, ToolSpec},
    tool_policy::ToolPolicy,
};

/// A server as presets.toml declares it, with what the environment says filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerDefinition {
    /// As presets.toml calls it.
    pub name: Arc<str>,
    /// How it is reached.
    pub transport: ServerTransport,
    /// For people, for `proxied` of presets, and for the category of its tools.
    pub tags: Vec<String>,
    /// The longest one call of its tools may take.
    pub timeout: Duration,
    /// Maximum time of one attempt to connect. `None` if that of `[proxy]` holds.
    pub connection_timeout: Option<Duration>,
    /// Whether it is connected in the background when the host starts.
    pub preconnect: bool,
    /// After how long without a call it is stopped; none for never.
    pub idle_timeout: Option<Duration>,
    /// What becomes of its tools that changed.
    pub on_change: ChangePolicy,
    /// What presets.toml says about its tools, by the server's own names.
    pub tools: BTreeMap<String, ToolPolicy>,
    /// Variables that presets.toml names and the environment has not. A server that needs one cannot be connected.
    pub missing: Vec<String>,
    /// Values that must come back in no message, log line or reply: those of all variables that it names, and what stands
    /// under a name that sounds like a credential.
    pub secrets: Vec<Secret>,
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerTransport {
    /// A child process that is spoken to over its standard input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// All that it gets of the environment beside `PATH`, `HOME` and what the host names in docs/servers.md.
        env: Vec<(String, Secret)>,
        /// Where it starts, absolute; none for where the host did.
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        /// Where it listens.
        url: String,
        /// Sent with each request, to this address only.
        headers: Vec<(String, Secret)>,
    },
    /// HTTP with server-sent events, as servers before 2025 have it.
    Sse {
        /// Where its stream is.
        url: String,
        /// Sent with each request, to this address only.
        headers: Vec<(String, Secret)>,
    },
}

impl ServerTransport {
    /// In a word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
        }
    }
}

/// Servers that are added while the host runs, kept beside presets.toml. What stands there cannot be changed here.
#[async_trait]
pub trait ServerDefinitionStore: Send + Sync {
    /// Checks a definition with the keys of `[servers.NAME]` and keeps it. `invalid-arguments` names the key, and what is
    /// allowed; `denied` where presets.toml declares a server of this name.
    async fn add(&self, server: &str, definition: &Map<String, Value>) -> Result<ServerDefinition, Fault>;

    /// Forgets one; false where there is none. `denied` where presets.toml declares it.
    async fn remove(&self, server: &str) -> Result<bool, Fault>;
}

/// How far the connection to a server has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerState {
    /// Never asked for yet.
    Configured,
    /// An attempt is under way.
    Connecting,
    /// It serves.
    Connected,
    /// Stopped because nobody used it; the next call starts it again.
    Dormant,
    /// The last attempt did not succeed.
    Failed,
}

/// Whether connections are attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CircuitState {
    /// As always.
    Closed,
    /// Too much failed lately: nothing is attempted for a while.
    Open,
    /// One attempt is under way, which decides.
    HalfOpen,
}

/// How a server does. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStatus {
    /// As presets.toml calls it.
    pub name: Arc<str>,
    /// Place in the configuration: the first server of presets.toml has 0, and added ones follow.
    #[serde(skip)]
    pub place: usize,
    /// `stdio`, `http` or `sse`.
    pub transport: &'static str,
    /// As presets.toml says.
    pub tags: Vec<String>,
    /// How far the connection has come.
    pub state: ServerState,
    /// Whether connections are attempted.
    pub circuit: CircuitState,
    /// Milliseconds until an open circuit lets an attempt through.
    pub recovery_in_ms: Option<u64>,
    /// Since when it is connected.
    pub connected_at: Option<u64>,
    /// What went wrong last, in one line.
    pub last_error: Option<String>,
    /// When what it lists last changed; none where that never happened, or nothing is known of it.
    pub last_schema_change: Option<u64>,
}

/// What a server lists, and who runs it.
#[derive(Clone)]
pub struct ServerListing {
    /// Runs its tools; starts the server where it has to.
    pub source: Arc<dyn Source>,
    /// What it lists, or listed when it was last asked.
    pub listing: Arc<Listing>,
    /// Names of tools that are held back until somebody has looked at how they changed, each with the reason.
    pub quarantined: Arc<Vec<(String, String)>>,
}

/// A server that has listed nothing yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnlistedServer {
    /// Its name.
    pub name: Arc<str>,
    /// Why the last attempt failed, in one line. `None` if the first one still runs.
    pub failure: Option<String>,
}

/// What a refresh found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshReport {
    /// Tools that were not known.
    pub added: u32,
    /// Tools that are not what they were.
    pub updated: u32,
    /// Tools that are not listed any more.
    pub removed: u32,
    /// Tools that are as they were.
    pub unchanged: u32,
    /// Vectors to be made anew.
    pub embeddings: u32,
    /// Servers that could not be asked, each with the reason.
    pub failed: Vec<(String, String)>,
}

/// The servers of a host.
#[async_trait]
pub trait ServerRegistry: Send + Sync {
    /// All that are enabled, by name. Starts none and waits for none.
    fn status(&self) -> Vec<ServerStatus>;

    /// The source that runs a server's tools, started or not; none where there is no such server.
    fn source(&self, server: &str) -> Option<Arc<dyn Source>>;

    /// What a server lists: what is known of it, without starting it; else it is asked. Faults are `not-found` with the
    /// nearest names, and what connecting ends in.
    async fn listing(&self, server: &str) -> Result<ServerListing, Fault>;

    /// What is known of what a server lists; none where it was never asked. Starts nothing.
    async fn known(&self, server: &str) -> Result<Option<ServerListing>, Fault>;

    /// Begins to ask servers that were never asked, and waits for their first listings no longer than `patience`. Servers
    /// whose last attempt failed are not waited for. Returns those that have listed nothing yet.
    async fn first_listings(&self, servers: &[Arc<str>], patience: Duration) -> Vec<UnlistedServer>;

    /// The tool as presets.toml describes it, for a definition that does not come from [`ServerRegistry::listing`].
    fn describe_tool(&self, _: &ToolId, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        Arc::clone(spec)
    }

    /// Has a server that was never asked say what it lists, over a connection that ends with this; nothing where it is known.
    /// Faults as [`ServerRegistry::listing`] does.
    async fn probe(&self, server: &str) -> Result<(), Fault>;

    /// Asks a server, or all, what they list now. A server that cannot be asked stands in the report, unless it is the only
    /// one. With `force` also what did not change is written anew.
    async fn refresh(&self, server: Option<&str>, force: bool) -> Result<RefreshReport, Fault>;

    /// Adds a server, or replaces one that was added so, and connects it: what became of that is the outcome inside. It
    /// stays configured either way. `definition` has the keys of `[servers.NAME]` in presets.toml.
    async fn change(
        &self,
        server: &str,
        definition: &Map<String, Value>,
    ) -> Result<Result<ServerListing, Fault>, Fault>;

    /// Removes a server that [`ServerRegistry::change`] added, and stops it; false where there is none.
    async fn remove(&self, server: &str) -> Result<bool, Fault>;
}

//! `presets.toml` as written. Deserialization checks only keys and types. The doc comments become the descriptions in
//! the generated JSON Schema and in error messages, which take the first quoted amount as an example.
//!
//! Longer than 300 lines because it shows all blocks of the file together.

use std::collections::BTreeMap;

use clap::ValueEnum;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{ConfigError, ConfigText, TextValue};
pub(crate) use super::{
    access::Access,
    auth::Auth,
    limits::Quota,
    raw_presets::Preset,
    raw_servers::{
        GrantKind, IdentityProvider, LoginKind, OAuth, OnChange, Proxy, Server, ToolOverride, TransportKind,
    },
    records::{Audit, Ledger},
    stores::{Artifacts, ArtifactsEngine, Documents, DocumentsEngine},
};

/// Configuration of a Gatehouse host: gates, their grants, and the presets that agents use.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "presets.toml")]
pub(crate) struct RawConfig {
    /// Settings of the host itself.
    pub(crate) host: Host,
    /// HTTP server: allowed hosts, origins and timeouts.
    pub(crate) http: HttpServer,
    /// Listener for operators.
    pub(crate) admin: Admin,
    /// Callers over HTTP.
    pub(crate) auth: Option<Auth>,
    /// Rules about callers and their tools.
    pub(crate) access: Vec<TextValue<Access>>,
    /// Language models and embedding models.
    pub(crate) models: Models,
    /// The knowledge graph.
    pub(crate) knowledge: Knowledge,
    /// Document repositories.
    pub(crate) documents: Documents,
    /// Results that are too large to show.
    pub(crate) artifacts: Artifacts,
    /// Call statistics.
    pub(crate) ledger: Ledger,
    /// The audit.
    pub(crate) audit: Audit,
    /// Limits on what callers use, by name.
    pub(crate) quotas: BTreeMap<TextValue<String>, Quota>,
    /// MCP servers behind this host, by name.
    pub(crate) servers: BTreeMap<TextValue<String>, Server>,
    /// Connections to these servers.
    pub(crate) proxy: Proxy,
    /// Grants and limits, by gate.
    pub(crate) gates: BTreeMap<TextValue<String>, RawGate>,
    /// Presets by name: what each agent sees.
    #[schemars(with = "BTreeMap<String, Preset>")]
    pub(crate) presets: IndexMap<TextValue<String>, Preset>,
}

impl RawConfig {
    /// Checks every gate name in `[gates]` and in presets.
    pub(super) fn check_gate_names(&self, text: &ConfigText) -> Result<(), ConfigError> {
        let in_presets = self.presets.values().flat_map(|preset| preset.gates.keys());
        let mut names = self.gates.keys().chain(in_presets);
        names.try_for_each(|name| text.at(name, super::check_gate_name(name)))
    }
}

/// Settings of the host itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Host {
    /// Directories with gates (*.wasm), relative to this file. "built-in" means the gates in the binary. If names
    /// clash, the first gate wins. Default: ["gates", "built-in"].
    pub(crate) gates: Option<Vec<String>>,
    /// Data directory, relative to this file. Default: gatehouse in the XDG data home. GATEHOUSE_STATE overrides it.
    pub(crate) state: Option<String>,
    /// Limit for compiled gates in the cache directory, shared by all hosts; the least recently used go first. "1 GiB"
    /// by default, "1 MiB" to "1024 GiB".
    pub(crate) cache_size: Option<TextValue<String>>,
    /// Preset for clients that name none. Without it, a host over HTTP has none, and one over stdio serves "full".
    pub(crate) default_preset: Option<TextValue<String>>,
    /// Shipped presets that HTTP serves too, next to those of this file and the default: ["proxy", "documents"].
    pub(crate) shipped_presets: Vec<TextValue<String>>,
    /// Whether the desktop shows that a call waits for an approval, true by default. Takes effect at the next start.
    pub(crate) desktop_notifications: Option<bool>,
}

/// HTTP server. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpServer {
    /// Names accepted in the Host header, next to localhost and the address itself: "gatehouse.corp", or with a port.
    pub(crate) allowed_hosts: Vec<TextValue<String>>,
    /// Web origins that may call, as "scheme://host[:port]". They get CORS headers; all others are refused.
    pub(crate) allowed_origins: Vec<TextValue<String>>,
    /// Addresses or networks of proxies whose header X-Forwarded-For names the client, for the audit and for limits:
    /// "10.0.0.7" or "10.0.0.0/8".
    pub(crate) trusted_proxies: Vec<TextValue<String>>,
    /// Maximum concurrent connections, 8 to 65536. Default: depends on the open-file limit, at most 1000.
    pub(crate) connections: Option<TextValue<usize>>,
    /// Time limit for request headers, "10 s" by default, at most "10 min".
    pub(crate) header_timeout: Option<TextValue<String>>,
    /// Time limit for the request body, "30 s" by default, at most "10 min".
    pub(crate) body_timeout: Option<TextValue<String>>,
    /// How long a client may stop reading its reply, "30 s" by default, at most "10 min".
    pub(crate) write_timeout: Option<TextValue<String>>,
    /// Maximum idle time between requests on a connection, "2 min" by default, at most "60 min".
    pub(crate) idle_timeout: Option<TextValue<String>>,
    /// How long running requests may continue after shutdown begins, over stdio too. "30 s" by default, at most "10
    /// min".
    pub(crate) drain: Option<TextValue<String>>,
}

/// Listener for operators, apart from that of clients. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Admin {
    /// Address on which a host over HTTP serves /metrics in the format of Prometheus: "127.0.0.1:9464". Beyond loopback it
    /// needs [auth]. With [auth], each reader needs an access rule with admin = true. Not set by default.
    pub(crate) listen: Option<TextValue<String>>,
}

/// Models. Keys come from the environment; this file only names variables.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Models {
    /// Embedding provider: "local" (the default, in the binary), "openai", "gemini" or "ollama", optionally with a
    /// model: "openai/text-embedding-3-large".
    pub(crate) embedding: Option<TextValue<String>>,
    /// Language model provider: "auto" (the default: the first of openai, gemini, anthropic, ollama that the
    /// environment sets up), "off", or a provider, optionally with a model: "gemini/gemini-2.5-pro".
    pub(crate) llm: Option<TextValue<String>>,
    /// OpenAI, or a server with a compatible API.
    pub(crate) openai: ModelProvider,
    /// Gemini.
    pub(crate) gemini: ModelProvider,
    /// Anthropic.
    pub(crate) anthropic: ModelProvider,
    /// Ollama.
    pub(crate) ollama: ModelProvider,
}

/// Connection to a model provider.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelProvider {
    /// URL of its API, http or https. The environment (OPENAI_BASE_URL and so on) overrides it.
    pub(crate) base_url: Option<String>,
    /// Variable that holds the key, as "${NAME}". If base_url is set here, no key is sent without this.
    pub(crate) api_key: Option<TextValue<String>>,
    /// openai only: the API to use. Default: responses for OpenAI itself, chat elsewhere.
    pub(crate) api: Option<TextValue<ModelApi>>,
    /// gemini and anthropic only: API version, "v1beta" and "2026-10-21" by default.
    pub(crate) api_version: Option<TextValue<String>>,
    /// Maximum concurrent requests, 1 to 64, 4 by default; further ones wait.
    pub(crate) concurrency: Option<TextValue<usize>>,
    /// Maximum silence while it answers, "120 s" by default, at most "10 min".
    pub(crate) timeout: Option<TextValue<String>>,
}

/// OpenAI APIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelApi {
    /// Responses, with web search.
    Responses,
    /// Chat Completions, which every compatible server supports.
    Chat,
}

/// The knowledge graph.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Knowledge {
    /// Storage engine for the pages.
    pub(crate) engine: KnowledgeEngine,
    /// Directories that the tools kg_index and kg_edit may access, relative to this file.
    pub(crate) wiki_roots: Vec<String>,
}

/// Knowledge graph engines.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KnowledgeEngine {
    /// A file in the data directory.
    #[default]
    Sqlite,
    /// A PostgreSQL server, set by DATABASE_URL.
    Postgres,
    /// Neo4j to store pages and Weaviate to search them, set by NEO4J_URI and WEAVIATE_URL.
    WeaviateNeo4j,
}

/// Grants and limits of one gate.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Gate")]
pub(crate) struct RawGate {
    /// The component: a file, relative to this file, or "oci://registry/name@sha256:…" together with sha256, as
    /// `gatehouse gates add` writes it. Default: <name>.wasm in the gate directories.
    pub(crate) component: Option<TextValue<String>>,
    /// SHA-256 of the component in hexadecimal; any other file is refused.
    pub(crate) sha256: Option<TextValue<String>>,
    /// Capabilities: "knowledge", "knowledge:read", "documents", "catalog", "kv", "models", "artifacts", "servers",
    /// "servers-admin", "elicitation", "sampling".
    pub(crate) grants: Vec<TextValue<String>>,
    /// How calls get instances: a new one each ("fresh", the default), or one that served an earlier call ("reuse").
    /// The gate can read what earlier calls left in a reused instance's memory.
    pub(crate) instance: InstancePolicy,
    /// Directories the gate sees, by the path it uses: "/data" = { path = "data" } to read, or "/notes" = { private =
    /// true } to read and write.
    pub(crate) folders: BTreeMap<TextValue<String>, GateFolder>,
    /// Resource limits.
    pub(crate) limits: GateLimits,
    /// Hosts it may send HTTP requests to: "[scheme://]host[:port]", https by default, "*.example.com" for every
    /// subdomain. Without this block it may send none.
    pub(crate) http: Option<BTreeMap<TextValue<String>, HttpHost>>,
}

/// Rules for a gate's requests to one host.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpHost {
    /// Headers that the host adds and the gate never sees; ${NAME} is the value of an environment variable.
    pub(crate) headers: BTreeMap<TextValue<String>, TextValue<String>>,
    /// Whether the name may resolve to a private, loopback or link-local address.
    pub(crate) private: bool,
}

/// How calls get instances.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InstancePolicy {
    /// A new instance for each call.
    #[default]
    Fresh,
    /// An instance that served an earlier call, if one is free.
    Reuse,
}

/// One directory that a gate sees: either a path, or private.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GateFolder {
    /// A directory on this machine, relative to this file, read-only.
    pub(crate) path: Option<String>,
    /// True for a directory of the gate's own in the data directory, which it can read and write.
    pub(crate) private: bool,
}

/// Resource limits: per call, or, for kv and folder, per gate.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GateLimits {
    /// Memory, "64 MiB" by default, at most "256 MiB".
    pub(crate) memory: Option<TextValue<String>>,
    /// Wall-clock time, "30 s" by default, at most "5 min".
    pub(crate) time: Option<TextValue<String>>,
    /// Concurrent calls, 64 by default; further ones wait.
    pub(crate) concurrency: Option<TextValue<usize>>,
    /// Bytes copied out of the gate at the same time, including its reply: "16 MiB" by default, at most "64 MiB".
    pub(crate) copy: Option<TextValue<String>>,
    /// Lines in the host's log, 200 by default, at most 10000; the rest is counted and dropped.
    pub(crate) log_lines: Option<TextValue<usize>>,
    /// HTTP requests, 64 by default, at most 1000.
    pub(crate) http_requests: Option<TextValue<usize>>,
    /// Model requests, 16 by default, at most 100.
    pub(crate) model_calls: Option<TextValue<usize>>,
    /// Calls of other tools, 64 by default, at most 1000.
    pub(crate) calls: Option<TextValue<usize>>,
    /// Bytes retained of standard output and error: "64 KiB" by default, at most "1 MiB".
    pub(crate) output: Option<TextValue<String>>,
    /// Elements of all its tables together, 20000 by default, at most 100000.
    pub(crate) table_elements: Option<TextValue<usize>>,
    /// Bytes of keys and values stored with the grant "kv": "16 MiB" by default, at most "1 GiB".
    pub(crate) kv: Option<TextValue<String>>,
    /// Bytes of files in its private directories: "64 MiB" by default, at most "16 GiB".
    pub(crate) folder: Option<TextValue<String>>,
}

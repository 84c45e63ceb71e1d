//! presets.toml as it is typed. Nothing is checked here but keys and types; the doc comments are the
//! descriptions in the generated JSON Schema.

use std::{collections::BTreeMap, ops::Range};

use clap::ValueEnum;
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

pub(crate) use super::{
    raw_artifacts::{ArtifactsEngine, RawArtifacts},
    raw_documents::{DocumentsEngine, RawDocuments, TableOwner},
    raw_ledger::RawLedger,
    raw_presets::RawPreset,
    raw_servers::{OnChange, RawOAuth, RawProxy, RawServer, RawToolOverride, TransportKind},
};

/// The configuration of a Gatehouse host: gates, what they may do, and presets that say who sees what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "presets.toml")]
pub(crate) struct RawConfig {
    /// The host itself.
    pub(crate) host: RawHost,
    /// Serving over HTTP: whom, and how long each may take.
    pub(crate) http: HttpServer,
    /// Models: who answers, and who makes vectors of texts.
    pub(crate) models: RawModels,
    /// The knowledge graph.
    pub(crate) knowledge: RawKnowledge,
    /// The repositories of documents.
    pub(crate) documents: RawDocuments,
    /// Results that were too large to show.
    pub(crate) artifacts: RawArtifacts,
    /// How calls went.
    pub(crate) ledger: RawLedger,
    /// MCP servers behind this host, by name.
    #[schemars(with = "BTreeMap<String, RawServer>")]
    pub(crate) servers: BTreeMap<Spanned<String>, RawServer>,
    /// How those servers are connected.
    pub(crate) proxy: RawProxy,
    /// Grants and limits, by gate.
    #[schemars(with = "BTreeMap<String, RawGate>")]
    pub(crate) gates: BTreeMap<Spanned<String>, RawGate>,
    /// What each agent sees, by preset.
    #[schemars(with = "BTreeMap<String, RawPreset>")]
    pub(crate) presets: IndexMap<Spanned<String>, RawPreset>,
}

impl RawConfig {
    /// The error is the place of a name that no gate can have, and what is wrong with it.
    pub(crate) fn check_gate_names(&self) -> Result<(), (Range<usize>, String)> {
        let in_presets = self.presets.values().flat_map(|preset| preset.gates.keys());
        let mut names = self.gates.keys().chain(in_presets);
        names.try_for_each(|name| super::check_gate_name(name.get_ref()).map_err(|why| (name.span(), why)))
    }
}

/// The host itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawHost {
    /// Folders with gates (*.wasm), relative to this file; "built-in" stands for the gates in the binary. Of two
    /// gates of one name the first counts. Default: ["gates", "built-in"].
    pub(crate) gates: Option<Vec<String>>,
    /// The data folder, relative to this file. Default: gatehouse in the XDG data home. GATEHOUSE_STATE wins.
    pub(crate) state: Option<String>,
    /// How much is kept of compiled gates in the cache folder, over all hosts; those used longest ago go first.
    /// "1 GiB" by default, "1 MiB" to "1024 GiB".
    #[schemars(with = "Option<String>")]
    pub(crate) cache_size: Option<Spanned<String>>,
    /// The preset for clients that name none. Default: "full".
    #[schemars(with = "Option<String>")]
    pub(crate) default_preset: Option<Spanned<String>>,
}

/// Serving over HTTP. Takes effect at the next start.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpServer {
    /// Names in the Host header beside localhost and the address itself: "gatehouse.corp", or with a port.
    #[schemars(with = "Vec<String>")]
    pub(crate) allowed_hosts: Vec<Spanned<String>>,
    /// Web pages that may call, as "scheme://host[:port]"; they get CORS headers, and no other page may call.
    #[schemars(with = "Vec<String>")]
    pub(crate) allowed_origins: Vec<Spanned<String>>,
    /// Connections at the same time, 8 to 65536. Default: what the limit on open files leaves, 1000 at most.
    #[schemars(with = "Option<usize>")]
    pub(crate) connections: Option<Spanned<usize>>,
    /// For the headers of a request, "10 s" by default, at most "10 min".
    #[schemars(with = "Option<String>")]
    pub(crate) header_timeout: Option<Spanned<String>>,
    /// For its body, "30 s" by default, at most "10 min".
    #[schemars(with = "Option<String>")]
    pub(crate) body_timeout: Option<Spanned<String>>,
    /// How long a client may take nothing of its reply, "30 s" by default, at most "10 min".
    #[schemars(with = "Option<String>")]
    pub(crate) write_timeout: Option<Spanned<String>>,
    /// Between two requests on a connection, "2 min" by default, at most "60 min".
    #[schemars(with = "Option<String>")]
    pub(crate) idle_timeout: Option<Spanned<String>>,
    /// How long requests that run may go on once the host is to end, over stdio too. "30 s" by default, at most "10 min".
    #[schemars(with = "Option<String>")]
    pub(crate) drain: Option<Spanned<String>>,
}

/// Models. Keys stand in the environment and never here; here is at most the name of a variable.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawModels {
    /// Who makes vectors of texts: "local" (the default, in the binary), "openai", "gemini" or "ollama", or
    /// one of them with a model: "openai/text-embedding-3-large".
    #[schemars(with = "Option<String>")]
    pub(crate) embedding: Option<Spanned<String>>,
    /// Who answers: "auto" (the default: the first of openai, gemini, anthropic, ollama that the environment
    /// sets up), "off", or a provider, with a model if need be: "gemini/gemini-2.5-pro".
    #[schemars(with = "Option<String>")]
    pub(crate) llm: Option<Spanned<String>>,
    /// OpenAI, or a server that speaks its API.
    pub(crate) openai: ModelProvider,
    /// Gemini.
    pub(crate) gemini: ModelProvider,
    /// Anthropic.
    pub(crate) anthropic: ModelProvider,
    /// Ollama.
    pub(crate) ollama: ModelProvider,
}

/// How a provider of models is reached.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ModelProvider {
    /// Where its API is, http or https. The environment (OPENAI_BASE_URL and so on) wins.
    pub(crate) base_url: Option<String>,
    /// The variable that holds its key, as "${NAME}". Where base_url stands here, no key is sent without this.
    #[schemars(with = "Option<String>")]
    pub(crate) api_key: Option<Spanned<String>>,
    /// openai alone: which API is spoken. Default: responses at OpenAI itself, chat elsewhere.
    #[schemars(with = "Option<ModelApi>")]
    pub(crate) api: Option<Spanned<ModelApi>>,
    /// gemini and anthropic alone: the version of the API, "v1beta" and "2026-10-21" by default.
    #[schemars(with = "Option<String>")]
    pub(crate) api_version: Option<Spanned<String>>,
    /// Requests at the same time, 1 to 64, 4 by default; further ones wait.
    #[schemars(with = "Option<usize>")]
    pub(crate) concurrency: Option<Spanned<usize>>,
    /// How long it may be silent while it answers, "120 s" by default, at most "10 min".
    #[schemars(with = "Option<String>")]
    pub(crate) timeout: Option<Spanned<String>>,
}

/// The APIs of OpenAI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ModelApi {
    /// Responses, which can search the web.
    Responses,
    /// Chat Completions, which every compatible server has.
    Chat,
}

/// The knowledge graph.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawKnowledge {
    /// Who keeps the pages.
    pub(crate) engine: KnowledgeEngine,
    /// Folders that the tools kg_index and kg_edit may touch, relative to this file.
    pub(crate) wiki_roots: Vec<String>,
}

/// Engines of the knowledge graph.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum KnowledgeEngine {
    /// A file in the data folder.
    #[default]
    Sqlite,
    /// A PostgreSQL server; DATABASE_URL says which.
    Postgres,
    /// Neo4j to keep the pages and Weaviate to find them; NEO4J_URI and WEAVIATE_URL say where.
    WeaviateNeo4j,
}

/// Grants and limits of one gate.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawGate {
    /// The component: a file, relative to this file, or "oci://registry/name@sha256:…" with sha256 beside it,
    /// as `gatehouse gates add` writes it. Default: <name>.wasm in the gate folders.
    #[schemars(with = "Option<String>")]
    pub(crate) component: Option<Spanned<String>>,
    /// SHA-256 of the component, hexadecimal; another file is refused.
    #[schemars(with = "Option<String>")]
    pub(crate) sha256: Option<Spanned<String>>,
    /// Capabilities it may use: "knowledge", "knowledge:read", "documents", "catalog", "kv",
    /// "models", "artifacts", "servers", "servers-admin", "elicitation", "sampling".
    #[schemars(with = "Vec<String>")]
    pub(crate) grants: Vec<Spanned<String>>,
    /// Whether each call gets an instance of its own ("fresh", the default), or one that served a call before
    /// ("reuse"). What a call leaves in a reused instance's memory, the gate can see in the next.
    pub(crate) instance: InstancePolicy,
    /// Folders it sees, by the name it has for them: "/data" = { path = "data" } to read, or
    /// "/notes" = { private = true } to read and write.
    #[schemars(with = "BTreeMap<String, RawGateFolder>")]
    pub(crate) folders: BTreeMap<Spanned<String>, RawGateFolder>,
    /// What it may use up.
    pub(crate) limits: RawGateLimits,
    /// Hosts that it may send HTTP requests to, and to no other: "[scheme://]host[:port]", https where no
    /// scheme is named, "*.example.com" for every subdomain. Without this block it may send none.
    #[schemars(with = "Option<BTreeMap<String, HttpHost>>")]
    pub(crate) http: Option<BTreeMap<Spanned<String>, HttpHost>>,
}

/// What holds for the requests of a gate to one host.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpHost {
    /// Headers that the host adds and the gate never sees; ${NAME} is the value of an environment variable.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) headers: BTreeMap<Spanned<String>, Spanned<String>>,
    /// Whether the name may stand for a private, loopback or link-local address.
    pub(crate) private: bool,
}

/// How calls get instances.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InstancePolicy {
    /// A new one for each call.
    #[default]
    Fresh,
    /// One that a call gave back, where there is one.
    Reuse,
}

/// One folder that a gate sees: either a path, or private.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawGateFolder {
    /// A folder of this machine, relative to this file. The gate can read it, and not write.
    pub(crate) path: Option<String>,
    /// A folder of the gate's own below the data folder. The gate can read and write it.
    pub(crate) private: bool,
}

/// What a gate may use up: one call, or, for kv and folder, the gate.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawGateLimits {
    /// Memory, "64 MiB" by default, at most "256 MiB".
    #[schemars(with = "Option<String>")]
    pub(crate) memory: Option<Spanned<String>>,
    /// Wall clock, "30 s" by default, at most "5 min".
    #[schemars(with = "Option<String>")]
    pub(crate) time: Option<Spanned<String>>,
    /// Calls at the same time, 64 by default; further ones wait.
    #[schemars(with = "Option<usize>")]
    pub(crate) concurrency: Option<Spanned<usize>>,
    /// Bytes that may leave the gate at once, a reply included: "16 MiB" by default, at most "64 MiB".
    #[schemars(with = "Option<String>")]
    pub(crate) copy: Option<Spanned<String>>,
    /// Lines in the host's log, 200 by default, at most 10000; the rest is counted and dropped.
    #[schemars(with = "Option<usize>")]
    pub(crate) log_lines: Option<Spanned<usize>>,
    /// HTTP requests: 64 by default, at most 1000.
    #[schemars(with = "Option<usize>")]
    pub(crate) http_requests: Option<Spanned<usize>>,
    /// Requests to models: 16 by default, at most 100.
    #[schemars(with = "Option<usize>")]
    pub(crate) model_calls: Option<Spanned<usize>>,
    /// Calls of other tools: 64 by default, at most 1000.
    #[schemars(with = "Option<usize>")]
    pub(crate) calls: Option<Spanned<usize>>,
    /// Bytes kept of what it writes to standard output and error: "64 KiB" by default, at most "1 MiB".
    #[schemars(with = "Option<String>")]
    pub(crate) output: Option<Spanned<String>>,
    /// Elements of its tables, all together: 20000 by default, at most 100000.
    #[schemars(with = "Option<usize>")]
    pub(crate) table_elements: Option<Spanned<usize>>,
    /// Bytes of keys and values that it keeps with the grant "kv": "16 MiB" by default, at most "1 GiB".
    #[schemars(with = "Option<String>")]
    pub(crate) kv: Option<Spanned<String>>,
    /// Bytes of files in its private folders: "64 MiB" by default, at most "16 GiB".
    #[schemars(with = "Option<String>")]
    pub(crate) folder: Option<Spanned<String>>,
}

//! Runs gates: WebAssembly components behind the contract in `wit/`.
//!
//! The only crate that knows wasmtime. It knows no database, no model and no wire: what a gate may reach
//! beyond pure computation comes in as [`Ports`] and is handed on only where presets.toml grants it.
//!
//! A gate is the adversary. Each call gets a fresh instance that is thrown away afterwards, unless presets.toml
//! says otherwise, with a wall clock deadline, caps on memory and on what crosses the boundary, no variable, no
//! socket, and no file outside the folders that presets.toml names.

#![cfg_attr(test, allow(clippy::duplicate_mod, reason = "a version of the contract stands beside its copy"))]

mod abi;
pub mod cache;
mod capability;
mod capacity;
mod capture;
mod compile_cost;
mod component_info;
mod embedded;
mod engine;
mod folders;
mod function_cache;
mod gate;
mod idle_instances;
mod index;
mod instance;
mod instance_slots;
mod last_words;
mod limits;
mod loader;
mod machine_code;
mod private_folders;
mod probe;
mod requests;
mod source;
mod state;
#[cfg(test)]
mod testing;
mod ticker;
mod traps;
mod version;
mod wasi;

use std::sync::Arc;

use gatehouse_core::ports::{
    ArtifactService, CallLedger, Clock, DocumentReader, Embedder, HttpFetcher, KnowledgeGraph, KvStore, Llm,
    ServerRegistry, TextCompressor, TokenCounter, ToolIndex,
};

pub use capacity::SystemLimits;
pub use compile_cost::CompileCostError;
pub use component_info::{ComponentInfo, MAX_FILE, NotAGate};
pub use embedded::EmbeddedComponents;
pub use folders::GuestFolder;
pub use gate::{Gate, GateInfo};
pub use index::FileStamp;
pub use limits::{LimitsError, SandboxLimits, format_bytes, parse_bytes, parse_duration};
pub use loader::{GateSettings, LoadError, Sandbox};
pub use probe::{ProbeOutcome, ProbeReport};

/// What the host does for gates, one field a capability that needs something from outside.
#[derive(Clone)]
pub struct Ports {
    /// The wall clock of `context.now`.
    pub clock: Arc<dyn Clock>,
    /// The knowledge graph.
    pub knowledge: Arc<dyn KnowledgeGraph>,
    /// The repositories of documents.
    pub documents: Arc<dyn DocumentReader>,
    /// What gates keep.
    pub kv: Arc<dyn KvStore>,
    /// What gates keep for whoever calls.
    pub artifacts: Arc<dyn ArtifactService>,
    /// The compressors.
    pub text: Arc<dyn TextCompressor>,
    /// The way to the network.
    pub http: Arc<dyn HttpFetcher>,
    /// The models.
    pub models: ModelPorts,
    /// The MCP servers behind the host, where it has any.
    pub servers: Option<Arc<dyn ServerRegistry>>,
    /// What is known of their tools, where that is kept.
    pub tools: Option<Arc<dyn ToolIndex>>,
    /// How calls went, where that is kept.
    pub ledger: Option<Arc<dyn CallLedger>>,
}

/// The models that gates may use.
#[derive(Clone)]
pub struct ModelPorts {
    /// Answers.
    pub llm: Arc<dyn Llm>,
    /// Embeds.
    pub embedder: Arc<dyn Embedder>,
    /// Counts.
    pub tokens: Arc<dyn TokenCounter>,
}
